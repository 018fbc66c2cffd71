<?php
// php movie.php FILE: writes a Flash film of 21,000,000 bytes. It has 1000 frames of 21,000 random bytes, so frame N is at
// ?start=13+21000*N.
const HEADER = "FLV\x01\x01\0\0\0\x09\0\0\0\0"; // version 1, video only; no frame before the first
const FRAME = 21_000;
const FRAMES = 1000;

function frame(int $milliseconds, int $bytes): string
{
    $data = "\x22" . random_bytes($bytes - 11 - 1 - 4); // an inter frame, Sorenson H.263
    $head = "\x09" . substr(pack('N', strlen($data)), 1); // video, and its length
    $time = substr(pack('N', $milliseconds), 1) . "\0";
    return $head . $time . "\0\0\0" . $data . pack('N', 11 + strlen($data));
}

$file = fopen("$argv[1].new", 'w');
fwrite($file, HEADER);
for ($number = 0; $number < FRAMES; $number++) {
    $last = $number === FRAMES - 1;
    fwrite($file, frame($number * 40, $last ? FRAME - strlen(HEADER) : FRAME));
}
fclose($file);
rename("$argv[1].new", $argv[1]);
