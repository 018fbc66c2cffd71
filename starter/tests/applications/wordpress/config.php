<?php
define('WP_SITEURL', 'http://' . getenv('PUBLIC_NAME'));
define('WP_HOME', WP_SITEURL);
define('DB_USER', 'root');
define('DB_PASSWORD', '');
define('DISABLE_WP_CRON', true);
define('WP_HTTP_BLOCK_EXTERNAL', true); // no look for updates
define('WP_ACCESSIBLE_HOSTS', 'varnish');
