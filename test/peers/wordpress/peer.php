<?php
// Commands of tests to their WordPress site: php peer.php <command> <JSON>. Prints JSON.

[, $command, $json] = $argv;
$input = json_decode($json, true);
if ($command === 'install') {
    define('WP_INSTALLING', true);
}
require getenv('CRIER_WORDPRESS_SITE') . '/wp-load.php';

function user_named(string $login): WP_User
{
    return get_user_by('login', $login);
}

$commands = [
    'install' => function ($input) {
        require ABSPATH . 'wp-admin/includes/upgrade.php';
        wp_install($input['title'], $input['login'], 'owner@example.com', true, '', $input['password']);
        update_option('permalink_structure', '/%postname%/');
        return ['version' => get_bloginfo('version')];
    },
    'user' => function ($input) {
        $id = wp_insert_user([
            'user_login' => $input['login'],
            'user_pass' => $input['password'],
            'user_email' => $input['login'] . '@example.com',
            'role' => $input['role'],
        ]);
        return ['id' => $id];
    },
    'password' => function ($input) {
        $user = user_named($input['login']);
        [$password] = WP_Application_Passwords::create_new_application_password($user->ID, ['name' => $input['name']]);
        return ['password' => WP_Application_Passwords::chunk_password($password)];
    },
    'passwords' => fn($input) => WP_Application_Passwords::get_user_application_passwords(user_named($input['login'])->ID),
    'revoke' => function ($input) {
        WP_Application_Passwords::delete_all_application_passwords(user_named($input['login'])->ID);
        return [];
    },
    'option' => function ($input) {
        update_option($input['name'], $input['value']);
        return [];
    },
    'posts' => fn() => array_map(
        fn(WP_Post $post) => [
            'id' => $post->ID,
            'author' => get_userdata($post->post_author)->user_login,
            'slug' => urldecode($post->post_name),
            'status' => $post->post_status,
            'title' => $post->post_title,
            'content' => $post->post_content,
            'rendered' => apply_filters('the_content', $post->post_content),
            'excerpt' => $post->post_excerpt,
            'commentStatus' => $post->comment_status,
            'format' => get_post_format($post) ?: 'standard',
            'sticky' => is_sticky($post->ID),
            'featured' => (int) get_post_thumbnail_id($post),
            'tags' => wp_get_post_tags($post->ID, ['fields' => 'names']),
            'categories' => wp_get_post_categories($post->ID),
        ],
        get_posts(['numberposts' => -1, 'post_status' => ['publish', 'draft', 'pending', 'private', 'trash'], 'orderby' => 'ID', 'order' => 'ASC'])
    ),
    'media' => fn() => array_map(
        fn(WP_Post $post) => [
            'id' => $post->ID,
            'slug' => $post->post_name,
            'type' => $post->post_mime_type,
            'altText' => get_post_meta($post->ID, '_wp_attachment_image_alt', true),
        ],
        get_posts(['post_type' => 'attachment', 'post_status' => 'inherit', 'numberposts' => -1, 'orderby' => 'ID', 'order' => 'ASC'])
    ),
    'comments' => fn() => array_map(
        fn(WP_Comment $comment) => [
            'id' => (int) $comment->comment_ID,
            'post' => (int) $comment->comment_post_ID,
            'content' => $comment->comment_content,
        ],
        get_comments(['status' => 'approve', 'orderby' => 'comment_ID', 'order' => 'ASC'])
    ),
];
echo json_encode($commands[$command]($input));
