// The search, as the portal's pages did it in 2014: the results and the number for each kind are requested separately.
// Served as /gen/portal.js?HASH.
document.addEventListener("DOMContentLoaded", async () => {
    const words = new URLSearchParams(location.search).get("q");
    if (location.pathname !== "/search" || words === null) {
        return;
    }
    const bytes = new TextEncoder().encode(words);
    const key = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

    const results = document.createElement("section");
    document.body.append(results);
    async function show(order) {
        const response = await fetch(`/results/${key}`, { method: "POST", body: new URLSearchParams({ order }) });
        results.innerHTML = await response.text();
    }

    for (const [kind, count] of Object.entries(await (await fetch(`/facet/kind/${key}`)).json())) {
        results.before(`${kind}: ${count}. `);
    }
    for (const order of ["newest", "largest"]) {
        const button = document.createElement("button");
        button.textContent = order;
        button.addEventListener("click", () => show(order));
        results.before(button);
    }
    await show("newest");
});
