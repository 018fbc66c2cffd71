<?php
// The article's "php driven site with roughly 100 page elements plus the generated page itself". A template engine makes the
// page, as in any real site: some thirty files of PHP, compiled for each request unless the opcode cache keeps them.
require '/usr/share/php/Twig/autoload.php';

$templates = new Twig\Loader\FilesystemLoader('/srv/www/templates');
$twig = new Twig\Environment($templates, ['cache' => '/tmp/twig', 'auto_reload' => false]);
$page = str_pad($twig->render('gallery.html.twig', ['title' => 'the tempest', 'pictures' => 100]), 12_000);
header('Content-Length: ' . strlen($page));
echo $page;
