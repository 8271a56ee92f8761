import { expect, test } from 'vitest'
import { FILE } from '../core/reply.ts'
import { from, operation, walk, type AnyOperation } from '../core/operation.ts'
import { Done, Id, Input, Type } from '../core/schema.ts'
import { pipelineErrors } from './declared-errors.ts'

const plain: AnyOperation = operation({
  route: 'GET /api/notes',
  summary: 'x',
  access: 'public',
  returns: { 200: Done },
  example: {},
  handle: () => undefined as never,
})

/** The codes that a change of the declaration adds and removes. */
function codes(changes: Partial<AnyOperation>, domain = 'notes'): string[] {
  const [op] = walk({ [domain]: { one: { ...plain, ...changes } } })
  return pipelineErrors(op!).map(({ code }) => code)
}

const common = [
  'bad_request',
  'validation_failed',
  'internal_error',
  'overloaded',
  'shutting_down',
  'database_unavailable',
  'invalid_credential',
  'credential_expired',
  'rate_limited',
  'service_disabled',
]
const added = (changes: Partial<AnyOperation>) => codes(changes).filter((code) => !common.includes(code))

test('a public read has the errors that every request can have', () => {
  expect(codes({})).toEqual(common)
  expect(codes({}, 'health')).toEqual(common.slice(0, -1))
})

test.each([
  [{ access: 'user' }, ['unauthorized', 'email_unverified', 'api_key_limited']],
  [{ access: 'user', unconfirmed: true }, ['unauthorized', 'api_key_limited']],
  [{ access: 'user', limitedKeys: true }, ['unauthorized', 'email_unverified']],
  [{ access: 'admin' }, ['unauthorized', 'email_unverified', 'api_key_limited', 'forbidden']],
  [
    { access: 'team:read', workspace: from.query('id') },
    ['unauthorized', 'email_unverified', 'forbidden', 'second_factor_needed', 'not_found'],
  ],
  [{ route: 'GET /api/notes/{id}', path: Type.Object({ id: Id }) }, ['not_found']],
  [{ returns: { 200: FILE } }, ['range_not_satisfiable']],
  [{ route: 'DELETE /api/notes' }, ['payload_too_large', 'request_timeout']],
  [{ route: 'PUT /api/notes', body: Input({}) }, ['payload_too_large', 'request_timeout', 'unsupported_media_type']],
  [
    { route: 'PUT /api/notes', upload: { kind: 'raw', maxBytes: 1 } },
    ['payload_too_large', 'too_many_uploads', 'unsupported_media_type'],
  ],
  [
    { route: 'POST /api/notes' },
    ['payload_too_large', 'request_timeout', 'idempotency_key_in_use', 'idempotency_key_reused'],
  ],
  [
    { route: 'DELETE /api/notes', turn: true, workspace: from.query('id') },
    ['not_found', 'payload_too_large', 'request_timeout', 'deadline_exceeded', 'outcome_unknown'],
  ],
] as [Partial<AnyOperation>, string[]][])('%o adds %o', (changes, expected) => {
  expect(added(changes)).toEqual(expected)
})
