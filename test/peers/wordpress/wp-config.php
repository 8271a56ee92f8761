<?php
// The configuration of the WordPress site that tests start (test/support/wordpress.ts).

define('DB_NAME', 'wordpress');
define('DB_USER', 'root');
define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:' . getenv('CRIER_WORDPRESS_SOCKET'));
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');

foreach (['AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY', 'AUTH_SALT', 'SECURE_AUTH_SALT', 'LOGGED_IN_SALT', 'NONCE_SALT'] as $name) {
    define($name, hash('sha256', $name . getenv('CRIER_WORDPRESS_SOCKET')));
}

// The site is below every host and port at which it is called, so that a proxy can be in between, and once more in the
// folder /blog.
$host = $_SERVER['HTTP_HOST'] ?? '127.0.0.1';
$folder = str_starts_with($_SERVER['REQUEST_URI'] ?? '', '/blog/') ? '/blog' : '';
define('WP_HOME', "http://$host$folder");
define('WP_SITEURL', "http://$host$folder");

define('WP_CONTENT_DIR', getenv('CRIER_WORDPRESS_CONTENT'));
define('WP_CONTENT_URL', WP_HOME . '/wp-content');

// WordPress accepts application passwords over http only here.
define('WP_ENVIRONMENT_TYPE', 'local');
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('DISABLE_WP_CRON', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('WP_DEBUG', false);

$table_prefix = 'wp_';
if (!defined('ABSPATH')) {
    define('ABSPATH', getenv('CRIER_WORDPRESS_SITE') . '/');
}
require_once ABSPATH . 'wp-settings.php';
