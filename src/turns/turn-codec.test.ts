import { describe, expect, it } from 'vitest'
import { AppError } from '../core/error.ts'
import { Overloaded, ValidationFailed } from '../core/errors.ts'
import { RawBody } from '../core/reply.ts'
import { turnCodec } from './turn-codec.ts'

type Kind = Parameters<typeof turnCodec.encode>[0]
const across = (kind: Kind, data: unknown) => turnCodec.decode(kind, turnCodec.encode(kind, data))

describe('encoding for another node', () => {
  it('keeps everything that the handler of a turn can read', () => {
    class OnDemand {
      readonly path = { id: '1' }
      readonly query = {}
      readonly body = { at: new Date(0), $set: ['x'], none: undefined }
      readonly caller = { userId: 'u', email: 'a@b.c', isAdmin: false, via: 'token' as const }
      readonly member = { workspaceId: 'w', userId: 'u', role: 'owner', scopes: new Set(['streams:read']) }
      readonly workspaceId = 'w'
      readonly requestId = 'r'
      readonly userAgent = 'test'
      readonly ifMatch = undefined
      readonly connection = () => undefined
      get remoteAddress() {
        return '192.0.2.1'
      }
    }
    const context = new OnDemand()
    const { connection: _, ...fields } = context
    expect(across('payload', { kind: 'operation', operation: 'streams.create', audited: true, context })).toEqual({
      kind: 'operation',
      operation: 'streams.create',
      audited: true,
      context: { ...fields, remoteAddress: '192.0.2.1' },
    })
    const system = { kind: 'system', name: 'usage', input: { bytes: Uint8Array.of(1, 2) } }
    expect(across('payload', system)).toEqual(system)
  })

  it('keeps replies, including raw bodies', () => {
    const reply = { status: 201, body: { status: true, data: { n: 1 } }, headers: { location: '/x' } }
    expect(across('value', reply)).toEqual(reply)
    expect(across('value', undefined)).toBeUndefined()
    const document = across('value', { status: 200, body: new RawBody('text/csv', 'a,b') }) as { body: RawBody }
    expect(document.body).toBeInstanceOf(RawBody)
    expect(document.body).toEqual(new RawBody('text/csv', 'a,b'))
  })

  it('keeps the types and fields of errors', () => {
    const errors = [{ path: '/body/name', code: 'min_length', message: 'is too short' }]
    const failed = across(
      'error',
      ValidationFailed({ errors, details: { most: 3 }, message: 'No.', hint: 'Do.' }),
    ) as AppError
    expect(failed).toBeInstanceOf(AppError)
    expect(failed).toMatchObject({
      code: 'validation_failed',
      message: 'No.',
      errors,
      details: { most: 3 },
      hint: 'Do.',
    })
    expect(across('error', Overloaded({ retryAfter: 4 }))).toMatchObject({ status: 503, retryAfter: 4 })
    const bug = across('error', new TypeError('x is not a function')) as Error
    expect(bug).not.toBeInstanceOf(AppError)
    expect(bug).toMatchObject({ name: 'TypeError', message: 'x is not a function' })
    const traced = Object.assign(new RangeError('too far'), { stack: 'RangeError: too far\n    at there' })
    expect((across('error', traced) as Error).stack).toBe('RangeError: too far\n    at there')
    const coded = Object.assign(new Error('no reply'), { code: 'overloaded' })
    expect(across('error', coded)).not.toBeInstanceOf(AppError)
    expect(across('error', 'just text')).toMatchObject({ name: 'Error', message: 'just text' })
    const untraced = Object.assign(new Error('x'), { stack: undefined })
    expect((across('error', untraced) as Error).stack).toContain('Error: x')
  })
})
