<?php
define('WP_INSTALLING', true);
$_SERVER['HTTP_HOST'] = getenv('PUBLIC_NAME');
require '/usr/share/wordpress/wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';
wp_install('Theatre', 'ann', 'ann@example.org', true, '', 'the curtain rises');
get_userdata(wp_create_user('bob', 'the curtain falls'))->set_role('editor');
foreach (['Hamlet', 'Macbeth', 'Othello', 'Lear'] as $title)
    wp_insert_post(['post_title' => $title, 'post_content' => "The play about $title.", 'post_status' => 'publish']);
$wp_rewrite->set_permalink_structure('/%postname%/');
