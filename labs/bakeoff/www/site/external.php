<?php
header('Content-Type: text/plain');
echo 'video ', (int) $_GET['vid'], ', PHP by ', getenv('DOOR') ?: 'mod_php', "\n";
