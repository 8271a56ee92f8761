import { expect, test } from 'vitest'
import { done } from '../core/reply.ts'
import { claimIdempotencyKey, handle } from './handle.ts'
import type { PipelineOptions } from './pipeline.ts'
import type { RequestState } from './request-state.ts'

type Given = { readonly [K in 'claimed' | 'kept' | 'op' | 'state']?: object | undefined }

/** A keyed request to an operation, and what happens to its key. */
function keyed({ claimed = {}, kept, op = {}, state = {} }: Given) {
  const calls: [string, unknown][] = []
  const called = (name: string, result?: unknown) => async (first: unknown, claim?: unknown) => {
    calls.push([name, claim ?? first])
    return result
  }
  const whole = {
    isKeyed: true,
    bearer: 'token',
    remoteAddress: '192.0.2.7',
    exchange: { headers: { idempotencyKey: 'k' } },
    path: { id: 1 },
    query: {},
    text: 'body',
    ...state,
    compiled: { op: { name: 'notes.write', handle: () => done('written'), ...op } },
  } as unknown as RequestState
  const options = {
    idempotency: {
      claim: called('claim', claimed),
      keep: called('keep'),
      giveUp: called('give up'),
      afterConflict: called('after conflict', kept),
    },
    context: () => ({}),
    turns: { operation: called('turn', done('turned')) },
  } as unknown as PipelineOptions
  return { calls, options, state: whole }
}

test('a request with its own bearer token has the key of that token', async () => {
  const requestOf = async (op: object, state: object) => {
    const { calls, options, state: one } = keyed({ op, state })
    await claimIdempotencyKey(one, options)
    return calls[0]?.[1]
  }
  const plain = {
    principal: 'address:192.0.2.7',
    operation: 'notes.write',
    key: 'k',
    request: 'notes.write\n{"id":1}\n{}\n\nbody',
    isTurn: false,
  }
  expect(await requestOf({}, {})).toEqual(plain)
  expect(await requestOf({ turn: true }, { caller: { userId: 'ada' } })).toEqual({
    ...plain,
    principal: 'ada',
    isTurn: true,
  })
  const request = (token: string) => `notes.write\n{"id":1}\n{}\n${token}\nbody`
  expect(await requestOf({ bearer: 'own' }, {})).toEqual({ ...plain, request: request('token') })
  expect(await requestOf({ bearer: 'own' }, { bearer: undefined })).toEqual({ ...plain, request: request('') })
})

test('a claim belongs to the request, and a stored reply ends it', async () => {
  const [claim, release] = [{ key: 'k' }, () => undefined]
  const fresh = keyed({ claimed: { claim, release } })
  await claimIdempotencyKey(fresh.state, fresh.options)
  expect(fresh.state).toMatchObject({ claim, releaseKey: release })
  expect(fresh.state.reply).toBeUndefined()
  const replay = done('before')
  const repeated = keyed({ claimed: { replay } })
  await claimIdempotencyKey(repeated.state, repeated.options)
  expect(repeated.state).toMatchObject({ replayed: true, reply: replay })
  expect(repeated.state.claim).toBeUndefined()
})

test('the reply of a claimed request is kept, by the turn if there is one, and the key is released', async () => {
  const claim = { key: 'k' }
  const run = async (op: object) => {
    let released = 0
    const made = keyed({ op, state: { claim, releaseKey: () => (released += 1) } })
    await handle(made.state, made.options)
    return [made.state.reply, made.calls.map(([name]) => name), released]
  }
  expect(await run({})).toEqual([done('written'), ['keep'], 1])
  expect(await run({ turn: true })).toEqual([done('turned'), ['turn'], 1])
})

test('a failed request gives its key up, unless another node has stored a reply', async () => {
  const claim = { key: 'k' }
  const fail = () => Promise.reject(new Error('broken'))
  const run = async (op: object, kept?: object) => {
    let released = 0
    const state = { claim, releaseKey: () => (released += 1) }
    const made = keyed({ op: { handle: fail, ...op }, kept, state })
    const error = await (async () => handle(made.state, made.options))().catch((reason: unknown) => String(reason))
    return [error, made.state.replayed, made.state.reply, made.calls, released]
  }
  const asked = ['after conflict', claim]
  expect(await run({})).toEqual(['Error: broken', undefined, undefined, [['give up', claim], asked], 1])
  const stored = done('stored')
  expect(await run({}, stored)).toEqual([undefined, true, stored, [['give up', claim], asked], 1])
})
