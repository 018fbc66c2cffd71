<?php
// A page that starts PHP and makes it work a little. Filled up to a fixed length, which it also announces: PHP inside
// Apache prints more than PHP-FPM does, and without a length ab, which speaks HTTP/1.0, could not keep its connections.
ob_start();
phpinfo();
$page = str_pad(ob_get_clean(), 100_000);
header('Content-Length: ' . strlen($page));
echo $page;
