<?php
header('Content-Type: text/plain');
echo 'video ', (int) $_GET['vid'], ', PHP by ', getenv('TRANSPORT') ?: 'mod_php', "\n";
