import type { ErrorKind } from '../error-kinds.ts'
import { kindOfStatus, type ReplyReader } from '../http/platform-http.ts'

/** Limits of TikTok are counted in sliding windows of a minute. */
const WINDOW_SECONDS = 60

/**
 * Codes of the Content Posting API (developers.tiktok.com/doc/content-posting-api-reference-direct-post, -photo-post
 * and -get-video-status, 2026-09). Those without a row there are as users report them: access_token_expired,
 * scope_permission_missed and invalid_params.
 */
const KINDS: Readonly<Record<string, ErrorKind>> = {
  access_token_invalid: 'auth_expired',
  access_token_expired: 'auth_expired',
  auth_removed: 'auth_expired',
  scope_not_authorized: 'scope_missing',
  scope_permission_missed: 'scope_missing',
  rate_limit_exceeded: 'rate_limited',
  spam_risk_too_many_posts: 'quota_exhausted',
  spam_risk_too_many_pending_share: 'quota_exhausted',
  reached_active_user_cap: 'quota_exhausted',
  spam_risk_user_banned_from_posting: 'account_restricted',
  spam_risk: 'policy_rejected',
  spam_risk_text: 'policy_rejected',
  unaudited_client_can_only_post_to_private_accounts: 'app_misconfigured',
  url_ownership_unverified: 'app_misconfigured',
  privacy_level_option_mismatch: 'validation',
  invalid_params: 'validation',
  invalid_param: 'validation',
  invalid_file_upload: 'media_processing',
  publish_cancelled: 'policy_rejected',
  internal_error: 'server_error',
  // Reasons of a publication that failed while it was processed.
  file_format_check_failed: 'media_processing',
  duration_check_failed: 'media_processing',
  frame_rate_check_failed: 'media_processing',
  picture_size_check_failed: 'media_processing',
  video_pull_failed: 'network',
  photo_pull_failed: 'network',
  internal: 'server_error',
  // Token endpoint.
  invalid_client: 'app_misconfigured',
  unauthorized_client: 'app_misconfigured',
  invalid_grant: 'auth_expired',
}

/** What the operator must do, where the code alone does not say it. */
const HINTS: Readonly<Record<string, string>> = {
  unaudited_client_can_only_post_to_private_accounts:
    'TikTok has not audited this server’s app, so posts can only be visible to their author (SELF_ONLY), on a private account.',
  url_ownership_unverified:
    'TikTok fetches photos from this server. Verify its domain at developers.tiktok.com, under URL properties of the app.',
}

/**
 * Errors of TikTok: `{ "error": { "code", "message", "log_id" } }`, where `ok` is a success and errors also come with
 * status 200. The token endpoint sends `{ "error", "error_description", "log_id" }`. There are no budget headers.
 */
export const reader: ReplyReader = {
  errorOf: ({ headers, json, status }) => {
    const { error, error_description: description } = (json ?? {}) as { error?: unknown; error_description?: unknown }
    const { code, message } = (
      typeof error === 'object' && error !== null ? error : { code: error, message: description }
    ) as { code?: unknown; message?: unknown }
    const known = typeof code === 'string' && code !== '' ? code : undefined
    if (status < 400 && (known === undefined || known === 'ok')) return undefined
    const kind = kindOfCode(known) ?? (status < 400 ? 'unknown' : kindOfStatus(status))
    const text = typeof message === 'string' && message !== '' ? message : undefined
    return {
      kind,
      code: known,
      detail: hintOf(known) ?? text ?? known,
      ...(kind === 'rate_limited' && headers['retry-after'] === undefined && { retryAfter: WINDOW_SECONDS }),
    }
  },
}

/** The kind of one of TikTok’s codes, also of a `fail_reason`. */
export function kindOfCode(code: string | undefined): ErrorKind | undefined {
  return code === undefined ? undefined : KINDS[code]
}

function hintOf(code: string | undefined): string | undefined {
  return code === undefined ? undefined : HINTS[code]
}
