import { describe, expect, it } from 'vitest'
import { OpenCalls, type Call } from './calls.ts'
import { systemClock } from './clock.ts'
import { Engine } from './engine.ts'
import {
  BatchError,
  FencedError,
  LocalActors,
  UnknownOutcomeError,
  type ActorHost,
  type Command,
  type Outcome,
} from './index.ts'
import { DEFAULT_LIMITS } from './limits.ts'
import { placeOf } from './placement.ts'
import type { NodeEntry, RuntimeClock } from './ports.ts'
import { SimProcess } from './simulation/process.ts'
import { Scheduler } from './simulation/scheduler.ts'

type Script = (epoch: number, commands: readonly Command[], call: number) => Promise<readonly Outcome[]>

/** Virtual time that advances to the next timer when there is nothing else to do. */
function hurriedClock(): RuntimeClock & { stop(): void } {
  const timers = new Set<{ at: number; action: () => void }>()
  let now = 0
  let pending: NodeJS.Immediate
  const step = () => {
    const [next] = [...timers].toSorted((a, b) => a.at - b.at)
    if (next !== undefined) {
      timers.delete(next)
      now = next.at
      next.action()
    }
    pending = setImmediate(step)
  }
  pending = setImmediate(step)
  return {
    monotonic: () => now,
    soon: (action) => void setImmediate(action),
    after: (ms, action) => {
      const timer = { at: now + ms, action }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    stop: () => clearImmediate(pending),
  }
}

function start(execute: Script, remembersOutcomes: boolean, stallMs = 5_000) {
  const batches: { epoch: number; repeated: boolean[] }[] = []
  let epoch = 0
  const host: ActorHost = {
    remembersOutcomes,
    activate: async () => (epoch += 1),
    execute: (_actor, current, commands) => {
      batches.push({ epoch: current, repeated: commands.map((command) => command.repeated === true) })
      return execute(current, commands, batches.length)
    },
  }
  const actors = new LocalActors({ host, monotonic: () => performance.now(), limits: { stallMs } })
  const run = (name: string, withinMs = 5_000) =>
    actors.run({ actor: 'a', operationId: name, caller: 'c', deadline: performance.now() + withinMs, payload: name })
  return { actors, run, batches }
}

const done: Script = async (_epoch, commands) => commands.map(({ payload }) => ({ ok: true, value: payload }))
const never = new Promise<never>(() => undefined)

describe('commands that wait while a batch commits', () => {
  it('are passed to the host before the replies of that batch are sent', async () => {
    const order: string[] = []
    let finish: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      finish = resolve
    })
    let entered: () => void = () => undefined
    const isUnderWay = new Promise<void>((resolve) => {
      entered = resolve
    })
    const { run } = start(async (epoch, commands, call) => {
      order.push(`batch ${call}`)
      entered()
      if (call === 1) await gate
      return done(epoch, commands, call)
    }, false)
    const noted = async (name: string) => {
      await run(name)
      order.push(`reply ${name}`)
    }
    const first = noted('one')
    await isUnderWay
    const second = noted('two')
    finish()
    await Promise.all([first, second])
    expect(order).toEqual(['batch 1', 'batch 2', 'reply one', 'reply two'])
  })

  it('do not wait until all replies of that batch are sent', async () => {
    const order: string[] = []
    const names = Array.from({ length: 10 }, (_, index) => `${index}`)
    const { run } = start(async (epoch, commands, call) => {
      if (call === 1) void noted('next')
      // The database replies in the next iteration of the event loop.
      else await new Promise((resolve) => setImmediate(resolve))
      order.push(`turns ${call}`)
      return done(epoch, commands, call)
    }, false)
    const last = Promise.withResolvers<void>()
    const noted = async (name: string) => {
      await run(name)
      order.push(name)
      if (name === 'next') last.resolve()
    }
    await Promise.all([...names.map(noted), last.promise])
    expect(order.filter((entry) => !entry.startsWith('turns'))).toEqual([...names, 'next'])
    expect(order.slice(0, 2)).toEqual(['turns 1', '0'])
    expect(order.indexOf('turns 2')).toBeLessThan(order.indexOf('9'))
  })
})

describe('an unknown outcome', () => {
  it('is looked up when the host remembers outcomes', async () => {
    const { run, batches } = start(
      (epoch, commands, call) =>
        call === 1 ? Promise.reject(new UnknownOutcomeError(new Error('gone'))) : done(epoch, commands, call),
      true,
    )
    expect(await Promise.all([run('one'), run('two')])).toEqual(['one', 'two'])
    expect(batches.map(({ repeated }) => repeated)).toEqual([[false, false], [true], [true]])
  })

  it('stays unknown when a later batch fails as a whole, and is looked up again', async () => {
    const { run, batches } = start((epoch, commands, call) => {
      if (call === 1) return Promise.reject(new UnknownOutcomeError(new Error('gone')))
      return call === 2 ? Promise.reject(new BatchError(new Error('away'))) : done(epoch, commands, call)
    }, true)
    expect(await run('one')).toBe('one')
    expect(batches.map(({ repeated }) => repeated)).toEqual([[false], [true], [true]])
  })

  it('ends with the error of its repetition', async () => {
    const { run, batches } = start((epoch, commands, call) => {
      if (call === 1) return Promise.reject(new UnknownOutcomeError(new Error('gone')))
      return call === 2 ? Promise.reject(new TypeError('a bug')) : done(epoch, commands, call)
    }, true)
    await expect(run('one')).rejects.toThrow('a bug')
    expect(batches).toHaveLength(2)
  })

  it('is looked up after pauses that double, up to half a second', async () => {
    const clock = hurriedClock()
    const times: number[] = []
    const host: ActorHost = {
      remembersOutcomes: true,
      activate: async () => 1,
      execute: async (_actor, epoch, commands) => {
        times.push(clock.monotonic())
        if (times.length <= 7) throw new UnknownOutcomeError(new Error('gone'))
        return done(epoch, commands, times.length)
      },
    }
    const actors = new LocalActors({ host, clock, monotonic: () => clock.monotonic() })
    await actors.run({ actor: 'a', operationId: 'one', caller: 'c', deadline: 60_000, payload: 'one' })
    clock.stop()
    expect(times.slice(1).map((time, index) => time - (times[index] ?? 0))).toEqual([50, 100, 200, 400, 500, 500, 500])
  })

  it('is reported to the caller when the host does not remember outcomes', async () => {
    const { run, batches } = start(() => Promise.reject(new UnknownOutcomeError(new Error('who knows'))), false)
    await expect(run('one')).rejects.toThrow('who knows')
    expect(batches).toHaveLength(1)
  })

  it('is looked up until the deadline while the host is unavailable', async () => {
    const { run } = start(() => Promise.reject(new UnknownOutcomeError(new Error('gone'))), true)
    await expect(run('one', 300)).rejects.toMatchObject({ reason: 'unknown' })
  })
})

describe('a transaction that hangs', () => {
  it('does not delay callers past the deadline', async () => {
    const { run } = start(() => never, false)
    // Without the deadline this would never end.
    await expect(run('one', 200)).rejects.toMatchObject({ reason: 'unknown' })
  })

  it('is abandoned: its outcomes are looked up, and others run under a new epoch', async () => {
    const { run, batches } = start(
      (epoch, commands, call) => (call === 1 ? never : done(epoch, commands, call)),
      true,
      50,
    )
    const hung = run('hung')
    const later = run('later')
    expect(await Promise.all([hung, later])).toEqual(['hung', 'later'])
    expect(batches[0]).toEqual({ epoch: 1, repeated: [false, false] })
    expect(batches.slice(1).flatMap(({ repeated }) => repeated)).toEqual([true, true])
    expect(batches.at(-1)?.epoch).toBe(2)
  })

  it('still settles its commands when it ends late and outcomes cannot be looked up', async () => {
    let finish: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      finish = resolve
    })
    const { run } = start(
      async (epoch, commands, call) => {
        if (call === 1) await gate
        return done(epoch, commands, call)
      },
      false,
      50,
    )
    const slow = run('slow')
    await new Promise((resolve) => void setTimeout(resolve, 200))
    expect(await run('other')).toBe('other')
    finish()
    expect(await slow).toBe('slow')
  })
})

describe('a transaction that hangs and then fails', () => {
  it('is reported with its own error when outcomes cannot be looked up', async () => {
    const [entered, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { run } = start(
      async (epoch, commands, call) => {
        if (call > 1) return done(epoch, commands, call)
        entered.resolve()
        await gate.promise
        throw new Error('the disk is full')
      },
      false,
      50,
    )
    const slow = run('slow')
    await entered.promise
    // Waits until the transaction is abandoned.
    expect(await run('other')).toBe('other')
    gate.resolve()
    await expect(slow).rejects.toThrow('the disk is full')
  })
})

describe('an abandoned attempt that ends late', () => {
  it('does not refuse commands that were given to the next attempt because it had not started them', async () => {
    for (const late of ['succeeds', 'fails']) {
      const [slow, gate, entered] = [
        Promise.withResolvers<number>(),
        Promise.withResolvers<void>(),
        Promise.withResolvers<void>(),
      ]
      let activations = 0
      const errors: unknown[] = []
      const actors = new LocalActors({
        host: {
          activate: () => ((activations += 1) === 1 ? slow.promise : Promise.resolve(activations)),
          execute: async (_actor, epoch, commands) => {
            entered.resolve()
            await gate.promise
            return done(epoch, commands, 1)
          },
        },
        monotonic: () => performance.now(),
        limits: { stallMs: 50 },
        onError: (_actor, error) => void errors.push(error),
      })
      const deadline = performance.now() + 10_000
      const result = actors.run({ actor: 'a', operationId: 'one', caller: 'c', deadline, payload: 'one' })
      await entered.promise
      if (late === 'succeeds') slow.resolve(1)
      else slow.reject(new Error('too late'))
      await new Promise(setImmediate)
      expect(errors).toHaveLength(late === 'succeeds' ? 0 : 1)
      gate.resolve()
      expect(await result).toBe('one')
      await actors.close(1_000)
    }
  })

  it('refuses its commands when another owner has the actor', async () => {
    const [entered, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { run } = start(
      async (epoch, commands, call) => {
        if (call > 1) return done(epoch, commands, call)
        entered.resolve()
        await gate.promise
        throw new FencedError('another epoch')
      },
      false,
      50,
    )
    const slow = run('slow')
    await entered.promise
    expect(await run('other')).toBe('other')
    gate.resolve()
    await expect(slow).rejects.toMatchObject({ name: 'RefusedError', reason: 'overloaded' })
  })

  it('reports the reason when a whole batch failed', async () => {
    const [entered, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { run } = start(
      async (epoch, commands, call) => {
        if (call > 1) return done(epoch, commands, call)
        entered.resolve()
        await gate.promise
        throw new BatchError(new Error('the database is away'))
      },
      false,
      50,
    )
    const slow = run('slow')
    await entered.promise
    expect(await run('other')).toBe('other')
    gate.resolve()
    await expect(slow).rejects.toThrow('the database is away')
  })
})

describe('an engine', () => {
  /** An engine in virtual time. The test controls its host. */
  function engineOf(host: Partial<ActorHost> = {}, limits: Partial<typeof DEFAULT_LIMITS> = {}) {
    const scheduler = new Scheduler()
    const { clock } = new SimProcess('node', scheduler, 1, 0)
    const calls = new OpenCalls(clock, 100)
    const [rerouted, forgotten, results]: [Call[], string[], unknown[]] = [[], [], []]
    const engine = new Engine({
      host: { activate: async () => 1, execute: (_actor, epoch, commands) => done(epoch, commands, 1), ...host },
      clock,
      limits: { ...DEFAULT_LIMITS, ...limits },
      calls,
      onError: () => undefined,
      mayAct: () => true,
      confirm: async () => true,
      reroute: (call) => void rerouted.push(call),
      onForgotten: (actor) => void forgotten.push(actor),
    })
    const submit = (operationId: string, actor = 'a') => {
      const command = { actor, operationId, caller: 'c', deadline: scheduler.now + 60_000, payload: operationId }
      const keep = (result: unknown) => void results.push(result)
      const call = calls.open(command, keep, keep) as Call
      engine.submit(call)
      return call
    }
    return { engine, scheduler, submit, rerouted, forgotten, results }
  }

  it('counts actors, turns, batches and their times', async () => {
    const { engine, scheduler, submit, results } = engineOf()
    expect(engine.isIdle('a')).toBe(true)
    for (const name of ['one', 'two', 'three']) submit(name)
    submit('other', 'b')
    expect([engine.isIdle('a'), engine.has('a'), engine.has('c')]).toEqual([false, true, false])
    expect(engine.owned('a')).toEqual({ actor: 'a', waiting: 3 })
    await scheduler.run(100)
    expect(results).toHaveLength(4)
    expect(engine.stats()).toMatchObject({
      active: 2,
      activations: 2,
      turns: 4,
      batches: 2,
      fenced: 0,
      quarantined: [],
    })
    expect(engine.stats().latency).toMatchObject({ count: 4, sum: 0 })
    expect(engine.stats().batchSize).toMatchObject({ count: 2, sum: 4 })
    expect(engine.owned('a')).toEqual({ actor: 'a', epoch: 1, waiting: 0 })
    expect(engine.owned('c')).toEqual({ actor: 'c', waiting: 0 })
    expect([engine.isIdle('a'), engine.actors()]).toEqual([true, ['a', 'b']])
  })

  it('measures the time of a command from its arrival', async () => {
    const { engine, scheduler, submit } = engineOf({
      execute: (_actor, epoch, commands) =>
        new Promise((resolve) => void scheduler.after(30, () => resolve(done(epoch, commands, 1)))),
    })
    submit('one')
    await scheduler.run(1_000)
    expect(engine.stats().latency).toMatchObject({ count: 1, sum: 30 })
  })

  it('releases an actor when its batch has ended, and returns the waiting commands', async () => {
    const gate = Promise.withResolvers<void>()
    const { engine, scheduler, submit, rerouted, results } = engineOf({
      execute: async (_actor, epoch, commands) => {
        await gate.promise
        return done(epoch, commands, 1)
      },
    })
    submit('one')
    await scheduler.run(10)
    const waiting = submit('two')
    let still = false
    void engine.quiesce('a', 5_000).then(() => (still = true))
    await scheduler.run(100)
    expect([still, rerouted, engine.has('a')]).toEqual([false, [waiting], false])
    gate.resolve()
    await scheduler.run(200)
    expect([still, results]).toEqual([true, ['one']])
    // An idle or unknown actor is released at once.
    submit('three', 'b')
    await scheduler.run(300)
    await engine.quiesce('b', 5_000)
    await engine.quiesce('c', 5_000)
    expect(engine.actors()).toEqual([])
  })

  it('returns the commands of a batch that fails while its actor is released', async () => {
    const gate = Promise.withResolvers<void>()
    let batches = 0
    const { engine, scheduler, submit, rerouted, results } = engineOf({
      execute: async () => {
        batches += 1
        await gate.promise
        throw new Error('a bug')
      },
    })
    const calls = [submit('one'), submit('two')]
    await scheduler.run(10)
    void engine.quiesce('a', 5_000)
    gate.resolve()
    await scheduler.run(100)
    expect([batches, rerouted, results]).toEqual([1, calls, []])
  })

  it('waits for the batch of an actor that it releases only up to the given time', async () => {
    const { engine, scheduler, submit, rerouted, results } = engineOf({ remembersOutcomes: true, execute: () => never })
    const call = submit('one')
    await scheduler.run(10)
    let still = false
    void engine.quiesce('a', 500).then(() => (still = true))
    await scheduler.run(509)
    expect([still, rerouted]).toEqual([false, []])
    await scheduler.run(510)
    expect([still, rerouted, call.command.repeated]).toEqual([true, [call], true])
    expect(results).toEqual([])
  })

  it('drops a hanging actor once, after the limit and not before', async () => {
    const { engine, scheduler, submit, forgotten, rerouted } = engineOf(
      { remembersOutcomes: true, execute: () => never },
      { stallMs: 1_000 },
    )
    submit('one')
    await scheduler.run(999)
    expect(forgotten).toEqual([])
    await scheduler.run(1_250)
    expect([forgotten, rerouted.length, engine.has('a')]).toEqual([['a'], 1, false])
    await scheduler.run(5_000)
    expect(forgotten).toHaveLength(1)
  })

  it('drops idle actors only, and none after it was closed', async () => {
    const { engine, scheduler, submit, forgotten } = engineOf({}, { idleMs: 1_000 })
    submit('one')
    await scheduler.run(1_500)
    submit('two', 'b')
    await scheduler.run(2_000)
    expect([forgotten, engine.actors()]).toEqual([['a'], ['b']])
    engine.close()
    await scheduler.run(100_000)
    expect([engine.actors(), scheduler.waiting]).toEqual([['b'], 0])
  })

  it('tells the host of every actor that it drops, once', async () => {
    const dropped: string[] = []
    const { engine, scheduler, submit } = engineOf({ dropped: (actor) => void dropped.push(actor) }, { idleMs: 1_000 })
    submit('one', 'idle')
    await scheduler.run(1_500)
    expect(dropped).toEqual([])
    submit('two', 'handed over')
    submit('three', 'lost')
    await scheduler.run(2_000)
    expect(dropped).toEqual(['idle'])
    await engine.quiesce('handed over', 100)
    engine.dropAll()
    engine.dropAll()
    expect(dropped).toEqual(['idle', 'handed over', 'lost'])
  })

  it('refuses waiting commands on request', async () => {
    const { engine, scheduler, submit, results } = engineOf({ execute: () => never })
    submit('one')
    await scheduler.run(10)
    submit('two')
    submit('three')
    engine.refuseWaiting()
    await scheduler.run(20)
    expect(results).toMatchObject([{ reason: 'closed' }, { reason: 'closed' }])
  })

  it('returns all waiting commands when it drops all actors', async () => {
    const { engine, scheduler, submit, rerouted } = engineOf({ execute: () => never })
    submit('one')
    await scheduler.run(10)
    const waiting = [submit('two'), submit('three', 'b')]
    engine.dropAll()
    expect([engine.actors(), rerouted]).toEqual([[], waiting])
  })

  it('fails a command without an outcome from the host', async () => {
    const { scheduler, submit, results } = engineOf({ execute: async () => [{ ok: true, value: 'first' }] })
    submit('one')
    submit('two')
    await scheduler.run(10)
    expect(results).toMatchObject(['first', { message: 'the host gave no outcome for a command' }])
  })
})

describe('a process that must not run actors', () => {
  it('activates no actor, and returns the commands', async () => {
    const clock = systemClock()
    const calls = new OpenCalls(clock, 10)
    const activated: string[] = []
    const givenBack = Promise.withResolvers<Call>()
    const engine = new Engine({
      host: {
        activate: async (actor) => activated.push(actor),
        execute: async () => [],
      },
      clock,
      limits: DEFAULT_LIMITS,
      calls,
      onError: () => undefined,
      mayAct: () => false,
      confirm: async () => true,
      reroute: givenBack.resolve,
      onForgotten: () => undefined,
    })
    const command = { actor: 'a', operationId: 'one', caller: 'c', deadline: Infinity, payload: 'one' }
    const call = calls.open(
      command,
      () => undefined,
      () => undefined,
    ) as Call
    engine.submit(call)
    expect(await givenBack.promise).toBe(call)
    expect(activated).toEqual([])
    expect(engine.has('a')).toBe(false)
    call.drop()
    engine.close()
  })
})

describe('placement', () => {
  const nodes = (...addresses: string[]): NodeEntry[] =>
    addresses.map((address) => ({ inc: `inc ${address}`, address, state: 'active' }))
  const actors = Array.from({ length: 3_000 }, (_, index) => `ws:${index}`)

  it('is even, and moves only the share of a node that joins', () => {
    const [two, three] = [nodes('a:1', 'b:1'), nodes('a:1', 'b:1', 'c:1')]
    const counts = new Map<string, number>()
    let moved = 0
    for (const actor of actors) {
      const [before, after] = [placeOf(actor, two)?.address, placeOf(actor, three)?.address]
      counts.set(after ?? '', (counts.get(after ?? '') ?? 0) + 1)
      if (before !== after) {
        moved += 1
        expect(after).toBe('c:1')
      }
    }
    for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(120)
    expect(moved).toBe(counts.get('c:1'))
  })

  it('is the same in every version, because nodes of two versions share actors during an upgrade', () => {
    const three = nodes('a:1', 'b:1', 'c:1')
    const places = actors.slice(0, 12).map((actor) => placeOf(actor, three)?.address.charAt(0))
    expect(places.join('')).toBe('acbcacabcccc')
  })

  it('uses impaired nodes only when there are no others, and leaving nodes never', () => {
    const [a, b] = nodes('a:1', 'b:1') as [NodeEntry, NodeEntry]
    const impaired = { ...a, state: 'impaired' as const }
    for (const actor of actors.slice(0, 20)) expect(placeOf(actor, [impaired, b])).toBe(b)
    expect(placeOf('x', [impaired, { ...b, state: 'leaving' }])).toBe(impaired)
    expect(placeOf('x', [{ ...b, state: 'leaving' }])).toBeUndefined()
  })
})
