import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

/**
 * Forms of statements whose cost grows with what is stored, rather than with what they return. A new one is rewritten, or
 * listed here with the reason why it does not grow. `npm run bench:growth` measures.
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url))

const texts = globSync('src/**/*.ts', { cwd: ROOT })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => !path.endsWith('.test.ts') && !path.startsWith('src/db/migrations/'))
  .toSorted((a, b) => a.localeCompare(b))
  .map((path) => ({ path, code: withoutComments(readFileSync(`${ROOT}/${path}`, 'utf8')) }))

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '')
}

/** The places of a pattern, as `path: text`, with white space as one space. */
function places(pattern: RegExp): string[] {
  return texts.flatMap(({ code, path }) =>
    [...code.matchAll(pattern)].map(([found]) => `${path}: ${found.replaceAll(/\s+/g, ' ').trim()}`),
  )
}

/** Compares with a list whose values are the reasons. */
function expectOnly(found: readonly string[], reasons: Readonly<Record<string, string>>): void {
  const sorted = (texts: Iterable<string>) => [...texts].toSorted((a, b) => a.localeCompare(b))
  expect(sorted(new Set(found))).toEqual(sorted(Object.keys(reasons)))
}

test('no optional parameter is a condition: with one plan for all values, no index can be used', () => {
  expectOnly(places(/[^\s(]+ is null or\b/gi), {
    "src/domains/money/ledger/tables.ts: 'owner_id is null or": 'a check constraint',
    'src/turns/fence.ts: $4::uuid is null or': 'of one row, which its key finds',
    'src/turns/workspace-logs.ts: channel_id is null or': 'a column, of a range of numbers that has a limit',
  })
})

test('no filter is a pattern, unless an index of trigrams or a bounded set of rows is behind it', () => {
  expectOnly(places(/'i?like'|[^\s(]+ i?like (?=[$'])[^`]{0,20}/gi), {
    "src/domains/identity/users/accounts.ts: 'ilike'": 'of the members of a workspace, by their ids',
    'src/domains/media/assets/listing.ts: a.tags) ilike ${$.pattern}': 'the index assets_by_text, in a search',
    "src/domains/money/ledger/credit-uses.ts: 'like'": 'not a filter',
    "src/domains/social/accounts/account-list.ts: 'ilike'": 'of the accounts of a workspace, which its plan limits',
  })
})

test('lists continue after a row, and never skip rows', () => {
  expectOnly(places(/\boffset\(|\boffset \$\d+/g), {
    'src/domains/money/payments/gateway-events.ts: offset(': 'by the number of refused events that are kept',
    'src/domains/talk/chat/search.ts: offset(': 'by at most the messages that a search reads',
    'src/domains/talk/notifications/inbox.ts: offset(': 'by the number of notifications that a user keeps',
    'src/mail/limits.ts: offset(': 'by at most the mails of a limit',
  })
})

/** Tables that can have hundreds of thousands of rows of one workspace or user, or of all. */
const LARGE = [
  ['posts', 'postTargets', 'postVersions', 'postSegments', 'postAttempts'],
  ['assets', 'assetFiles', 'assetRenditions'],
  ['chatMessages', 'chatLog', 'chatMentions', 'chatReactions', 'chatAttachments'],
  ['auditLog', 'workspaceEvents', 'notifications', 'webhookDeliveries', 'finishedJobs', 'outbox', 'mailLog'],
  ['analyticsContent', 'analyticsSeries', 'analyticsSamples', 'analyticsDays'],
  ['ledgerEntries', 'ledgerLines', 'users', 'workspaces', 'sessions', 'idempotencyKeys', 'loginThrottles'],
].flat()

test('no rows of a large table are counted', () => {
  expectOnly(places(new RegExp(`\\b(?:${LARGE.join('|')})\\.count\\([^)]*`, 'g')), {
    'src/domains/money/ledger/inspector.ts: ledgerLines.count(tx, {}': 'the nightly check reads the whole ledger',
    'src/domains/talk/chat/reactions-and-pins.ts: chatMessages.count(turn.sql, { channelId, pinnedAt: not(null':
      'a channel has a limit of pinned messages, and an index has them',
    'src/domains/workspace/workspaces/workspace-store.ts: workspaces.count(sql, { ownerId: userId, deletedAt: null }':
      'a plan limits the workspaces of an owner',
  })
})

test('rows of a large table that are due are deleted in batches', () => {
  expectOnly(places(new RegExp(`\\b(?:${LARGE.join('|')})\\.delete(?:Returning)?\\([^)]*(?:lessThan|atMost)`, 'g')), {})
})
