<?php
// Serves a WordPress site from PHP's own web server, as the rewrite rules of other web servers do.

$site = getenv('CRIER_WORDPRESS_SITE');
$path = urldecode(parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH));
if (str_starts_with($path, '/blog/')) {
    $path = substr($path, strlen('/blog'));
}
if (str_contains($path, '..')) {
    http_response_code(400);
    return;
}
$uploads = '/wp-content/uploads/';
if (str_starts_with($path, $uploads)) {
    $file = getenv('CRIER_WORDPRESS_CONTENT') . '/uploads/' . substr($path, strlen($uploads));
    if (is_file($file)) {
        header('Content-Type: ' . mime_content_type($file));
        readfile($file);
        return;
    }
    http_response_code(404);
    return;
}
$file = $site . rtrim($path, '/');
if (is_dir($file)) {
    $file .= '/index.php';
}
if (!is_file($file)) {
    $file = "$site/index.php";
}
if (!str_ends_with($file, '.php')) {
    readfile($file);
    return;
}
chdir(dirname($file));
$_SERVER['SCRIPT_FILENAME'] = $file;
$_SERVER['SCRIPT_NAME'] = $_SERVER['PHP_SELF'] = str_replace($site, '', $file);
require $file;
