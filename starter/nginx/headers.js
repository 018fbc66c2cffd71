// What no directive of nginx can say about a request's headers: which ones are in no list of
// headers.txt, and what the values are that copies are kept apart by.
// https://nginx.org/en/docs/njs/reference.html

import crypto from 'crypto';

// The first header that is in no list, in lower case, or nothing.
function unusual(r) {
    const headers = r.rawHeadersIn;
    const usual = r.variables.usual_headers;
    for (let i = 0; i < headers.length; i++) {
        const name = headers[i][0].toLowerCase();
        if (!usual.includes(` ${name} `) && !name.startsWith('sec-')) {
            return name.slice(0, 64);
        }
    }
    return '';
}

// The same for requests whose headers of this list are the same.
function variant(r) {
    const kept_apart = r.variables.key_headers;
    const lines = r.rawHeadersIn.map(header => [header[0].toLowerCase(), header[1]])
        .filter(header => kept_apart.includes(` ${header[0]} `))
        .sort();
    return crypto.createHash('sha256').update(JSON.stringify(lines)).digest('hex');
}

export default { unusual, variant };
