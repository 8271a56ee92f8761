import { expect, test } from 'vitest'
import type { PlatformReply } from '../http/platform-http.ts'
import { graphReader } from './replies.ts'

const NOW = Date.UTC(2026, 10, 22, 12)

function reply(status: number, body: unknown, headers: PlatformReply['headers'] = {}): PlatformReply {
  return { status, headers, bytes: Buffer.from(JSON.stringify(body)), json: body }
}

const graph = (code: number, subcode?: number, more: object = {}, status = 400) =>
  reply(status, { error: { message: 'Message', code, error_subcode: subcode, ...more } })

test.each([
  [graph(190, 463), 'auth_expired', '190/463'],
  [graph(190, 459), 'account_restricted', '190/459'],
  [graph(190), 'auth_expired', '190'],
  [graph(102), 'auth_expired', '102'],
  [graph(1, undefined, { message: 'Error validating client secret.' }), 'app_misconfigured', '1'],
  [graph(101), 'app_misconfigured', '101'],
  [graph(100, 36_008, { message: 'Make sure your redirect_uri is identical' }), 'app_misconfigured', '100/36008'],
  [graph(100, 36_007), 'auth_expired', '100/36007'],
  [graph(10), 'scope_missing', '10'],
  [graph(200), 'scope_missing', '200'],
  [graph(283), 'scope_missing', '283'],
  [graph(4), 'rate_limited', '4'],
  [graph(17), 'rate_limited', '17'],
  [graph(32), 'rate_limited', '32'],
  [graph(613), 'rate_limited', '613'],
  [graph(80_002), 'rate_limited', '80002'],
  [graph(9, 2_207_042), 'quota_exhausted', '9/2207042'],
  [graph(341), 'quota_exhausted', '341'],
  [graph(368), 'policy_rejected', '368'],
  [graph(368, 1_390_008), 'account_restricted', '368/1390008'],
  [graph(4, 2_207_051), 'policy_rejected', '4/2207051'],
  [graph(25, 2_207_050), 'account_restricted', '25/2207050'],
  [graph(506), 'duplicate_content', '506'],
  [graph(36_003, 2_207_009), 'media_processing', '36003/2207009'],
  [graph(9_004, 2_207_052), 'media_processing', '9004/2207052'],
  [graph(36_004, 2_207_010), 'validation', '36004/2207010'],
  [graph(100), 'validation', '100'],
  [graph(100, 33), 'unsupported', '100/33'],
  [graph(100, undefined, { is_transient: true }), 'server_error', '100'],
  [graph(2, undefined, {}, 503), 'server_error', '2'],
  [graph(-1, 2_207_001), 'server_error', '-1/2207001'],
  [graph(4_711), 'validation', '4711'],
  [reply(200, { error: { message: 'Hidden in a success', code: 190 } }), 'auth_expired', '190'],
  [
    reply(400, { error_type: 'OAuthException', code: 400, error_message: 'Invalid authorization code' }),
    'auth_expired',
    'OAuthException/400',
  ],
  [
    reply(400, { error_type: 'OAuthException', code: 400, error_message: 'Invalid Client ID' }),
    'app_misconfigured',
    'OAuthException/400',
  ],
  [
    reply(400, { debug_info: { retriable: true, type: 'PartialRequestError', message: 'm' } }),
    'server_error',
    'PartialRequestError',
  ],
  [
    reply(400, { debug_info: { retriable: false, type: 'ProcessingFailedError' } }),
    'media_processing',
    'ProcessingFailedError',
  ],
])('the error %# has the kind %s', (answer, kind, code) => {
  expect(graphReader.errorOf(answer)).toMatchObject({ kind, code })
})

test('a reply without a Graph error is judged by its status', () => {
  expect(graphReader.errorOf(reply(200, { id: '1' }))).toBeUndefined()
  expect(graphReader.errorOf(reply(429, { error: 'text' }))).toEqual({ kind: 'rate_limited' })
  expect(graphReader.errorOf(reply(502, null))).toEqual({ kind: 'server_error' })
})

test('a general failure may have published, and the trace is kept for the support of Meta', () => {
  const found = graphReader.errorOf(graph(2, undefined, { fbtrace_id: 'AbC', error_user_msg: 'Try again.' }))
  expect(found).toMatchObject({ mayHaveHappened: true, detail: 'Try again. (fbtrace_id AbC)' })
})

test('a limit of a business says in how many minutes the app is let in again', () => {
  const usage = { '17841': [{ type: 'instagram', call_count: 100, total_time: 3, estimated_time_to_regain_access: 7 }] }
  const limited = reply(400, { error: { code: 80_002 } }, { 'x-business-use-case-usage': JSON.stringify(usage) })
  expect(graphReader.errorOf(limited)).toMatchObject({ kind: 'rate_limited', retryAfter: 420 })
  expect(graphReader.budgetsOf?.(limited, NOW)).toEqual([
    { name: 'business instagram', limit: 100, remaining: 0, resetsAt: NOW + 420_000 },
  ])
})

test('usage headers are read as what is left, and broken ones are ignored', () => {
  const headers = {
    'x-app-usage': '{"call_count":28,"total_time":35,"total_cputime":1}',
    'x-page-usage': '{"call_count":120}',
    'x-business-use-case-usage': 'broken',
  }
  expect(graphReader.budgetsOf?.(reply(200, {}, headers), NOW)).toEqual([
    { name: 'app', limit: 100, remaining: 65, resetsAt: NOW + 3_600_000 },
    { name: 'page', limit: 100, remaining: 0, resetsAt: NOW + 3_600_000 },
  ])
})

test('quotas of posts and replies are budgets', () => {
  const config = { quota_total: 250, quota_duration: 86_400 }
  const body = { data: [{ quota_usage: 4, config, reply_quota_usage: 1_001, reply_config: { quota_total: 1_000 } }] }
  expect(graphReader.budgetsOf?.(reply(200, body), NOW)).toEqual([
    { name: 'posts', counts: 'posts', limit: 250, remaining: 246, resetsAt: NOW + 86_400_000 },
    { name: 'replies', counts: 'replies', limit: 1_000, remaining: 0, resetsAt: NOW + 86_400_000 },
  ])
})
