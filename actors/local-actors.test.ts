import { afterEach, describe, expect, it } from 'vitest'
import { waitFor } from '../test/support/wait.ts'
import { BatchError, FencedError, LocalActors, type ActorHost, type Command, type Outcome } from './index.ts'
import type { ActorLimits } from './limits.ts'

/** What hosts commit to: epochs and effects by actor, like a database. */
class Store {
  readonly epochs = new Map<string, number>()
  readonly effects: string[] = []
  readonly batches: string[][] = []
}

interface Job {
  readonly name: string
  /** Fails before it writes anything. */
  readonly refuse?: boolean
  /** Fails after it has written, which rolls the whole transaction back. */
  readonly poison?: boolean
}

/** Commits batches to a store under its epochs; `gate` delays transactions until it is opened. */
class TestHost implements ActorHost {
  readonly store: Store
  gate: Promise<void> = Promise.resolve()
  entered = 0
  failActivations = 0
  failWith: (() => unknown) | undefined

  constructor(store = new Store()) {
    this.store = store
  }

  async activate(actor: string): Promise<number> {
    if (this.failActivations > 0) {
      this.failActivations -= 1
      throw new Error('the store is away')
    }
    const epoch = (this.store.epochs.get(actor) ?? 0) + 1
    this.store.epochs.set(actor, epoch)
    return epoch
  }

  async execute(actor: string, epoch: number, commands: readonly Command[]): Promise<readonly Outcome[]> {
    this.entered += 1
    await this.gate
    const jobs = commands.map((command) => command.payload as Job)
    this.store.batches.push(jobs.map((job) => job.name))
    if (this.failWith) throw this.failWith()
    if (this.store.epochs.get(actor) !== epoch) throw new FencedError('another epoch')
    if (jobs.some((job) => job.poison)) throw new Error('poison')
    return jobs.map((job) => {
      if (job.refuse) return { ok: false, error: new Error(`${job.name} refused`) }
      this.store.effects.push(job.name)
      return { ok: true, value: job.name }
    })
  }
}

function closedGate(): { gate: Promise<void>; open: () => void } {
  let open: () => void = () => undefined
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  return { gate, open }
}

let now = 0
let running: LocalActors[] = []

function start(host: ActorHost, limits: Partial<ActorLimits> = {}): LocalActors {
  const actors = new LocalActors({ host, monotonic: () => now, limits })
  running.push(actors)
  return actors
}

function command(name: string, more: Partial<Command> & Omit<Job, 'name'> = {}): Command {
  const { refuse, poison, ...fields } = more
  const payload = { name, ...(refuse ? { refuse } : {}), ...(poison ? { poison } : {}) }
  return { actor: 'ws:1', operationId: name, caller: 'ada', deadline: now + 10_000, payload, ...fields }
}

const names = (count: number, prefix = 't') => Array.from({ length: count }, (_, index) => `${prefix}${index}`)
const messageOf = (error: unknown) => (error as Error).message

afterEach(async () => {
  await Promise.all(running.map((actors) => actors.close(1_000)))
  running = []
  now = 0
})

describe('order and batches', () => {
  it('runs the commands of an actor in order of arrival', async () => {
    const host = new TestHost()
    const actors = start(host, { perCaller: 500, perActor: 500 })
    const wanted = names(200)
    const values = await Promise.all(wanted.map((name) => actors.run(command(name))))
    expect(values).toEqual(wanted)
    expect(host.store.effects).toEqual(wanted)
  })

  it('runs up to 64 waiting commands in one transaction', async () => {
    const host = new TestHost()
    const actors = start(host, { perCaller: 500 })
    const { gate, open } = closedGate()
    host.gate = gate
    const first = actors.run(command('first'))
    await waitFor(() => host.entered === 1)
    const rest = names(150).map((name) => actors.run(command(name)))
    open()
    await Promise.all([first, ...rest])
    expect(host.store.batches.map((batch) => batch.length)).toEqual([1, 64, 64, 22])
    expect(actors.stats()).toMatchObject({ turns: 151, batches: 4, waiting: 0, activations: 1 })
  })

  it('runs different actors concurrently', async () => {
    const host = new TestHost()
    const { gate, open } = closedGate()
    host.gate = gate
    const actors = start(host)
    const both = [actors.run(command('a', { actor: 'ws:a' })), actors.run(command('b', { actor: 'ws:b' }))]
    await waitFor(() => host.entered === 2)
    open()
    expect(await Promise.all(both)).toEqual(['a', 'b'])
  })

  it('runs control commands before user commands', async () => {
    const host = new TestHost()
    const actors = start(host, { batch: 2 })
    const { gate, open } = closedGate()
    host.gate = gate
    const first = actors.run(command('first'))
    await waitFor(() => host.entered === 1)
    const rest = [
      ...names(3).map((name) => actors.run(command(name))),
      actors.run(command('stop', { priority: 'control', caller: 'system' })),
    ]
    open()
    await Promise.all([first, ...rest])
    expect(host.store.effects).toEqual(['first', 'stop', 't0', 't1', 't2'])
  })

  it('runs a command that arrives at any step after another has ended', async () => {
    const host = new TestHost()
    const actors = start(host)
    // The actor goes idle within the first few microtasks after a command settles.
    for (let steps = 0; steps < 30; steps += 1) {
      let chain: Promise<unknown> = actors.run(command(`a${steps}`))
      for (let step = 0; step < steps; step += 1) chain = chain.then((value) => value)
      await chain
      await expect(actors.run(command(`b${steps}`))).resolves.toBe(`b${steps}`)
    }
  })
})

describe('failures', () => {
  it('fails only the poison command of a batch', async () => {
    const host = new TestHost()
    const actors = start(host)
    const results = await Promise.allSettled(
      names(10).map((name) => actors.run(command(name, name === 't4' ? { poison: true } : {}))),
    )
    expect(results.map((result) => result.status)).toEqual(
      names(10).map((name) => (name === 't4' ? 'rejected' : 'fulfilled')),
    )
    expect(host.store.effects).toEqual(names(10).filter((name) => name !== 't4'))
  })

  it('answers a command that fails cleanly without a second transaction', async () => {
    const host = new TestHost()
    const actors = start(host)
    const results = await Promise.allSettled([
      actors.run(command('good')),
      actors.run(command('bad', { refuse: true })),
      actors.run(command('better')),
    ])
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(host.store.batches).toEqual([['good', 'bad', 'better']])
  })

  it('never repeats a batch that failed as a whole', async () => {
    const host = new TestHost()
    const actors = start(host)
    host.failWith = () => new BatchError(new Error('the link is gone'))
    const results = await Promise.allSettled(names(5).map((name) => actors.run(command(name))))
    expect(results.map((result) => (result.status === 'rejected' ? messageOf(result.reason) : 'done'))).toEqual(
      names(5).map(() => 'the link is gone'),
    )
    expect(host.store.batches).toEqual([names(5)])
  })
})

describe('limits', () => {
  it('rejects commands over the limit of one caller, and accepts others', async () => {
    const host = new TestHost()
    const actors = start(host, { perCaller: 3 })
    const { gate, open } = closedGate()
    host.gate = gate
    const first = actors.run(command('first'))
    await waitFor(() => host.entered === 1)
    const mine = names(3).map((name) => actors.run(command(name)))
    await expect(actors.run(command('over'))).rejects.toMatchObject({ reason: 'overloaded', retryAfter: 1 })
    const others = actors.run(command('other', { caller: 'bob' }))
    open()
    await Promise.all([first, ...mine, others])
    expect(host.store.effects).not.toContain('over')
    await expect(actors.run(command('later'))).resolves.toBe('later')
  })

  it('rejects commands over the limits of an actor and of the node, but never control commands', async () => {
    const host = new TestHost()
    const actors = start(host, { perActor: 4, perNode: 6 })
    const { gate, open } = closedGate()
    host.gate = gate
    const taken = [actors.run(command('first'))]
    await waitFor(() => host.entered === 1)
    for (const name of names(4)) taken.push(actors.run(command(name, { caller: name })))
    await expect(actors.run(command('over', { caller: 'x' }))).rejects.toMatchObject({ reason: 'overloaded' })
    taken.push(actors.run(command('elsewhere', { actor: 'ws:2' })))
    await expect(actors.run(command('full', { actor: 'ws:3' }))).rejects.toMatchObject({ reason: 'overloaded' })
    taken.push(actors.run(command('stop', { priority: 'control' })))
    expect(actors.stats()).toMatchObject({ overloaded: 2, waiting: 7 })
    open()
    await Promise.all(taken)
    expect(actors.stats().waiting).toBe(0)
  })

  it('drops a command whose deadline passed while it waited', async () => {
    const host = new TestHost()
    const actors = start(host)
    const { gate, open } = closedGate()
    host.gate = gate
    const first = actors.run(command('first'))
    await waitFor(() => host.entered === 1)
    const late = actors.run(command('late', { deadline: now + 100 }))
    const patient = actors.run(command('patient', { deadline: now + 1_000 }))
    now += 500
    open()
    await expect(late).rejects.toMatchObject({ reason: 'expired' })
    await Promise.all([first, patient])
    expect(host.store.effects).toEqual(['first', 'patient'])
    expect(actors.stats().expired).toBe(1)
  })

  it('keeps deadlines while the commands of a failed batch run one by one', async () => {
    const host = new TestHost()
    host.failWith = () => {
      now += 400
      return new Error('slow failure')
    }
    const actors = start(host)
    const results = await Promise.allSettled(names(5).map((name) => actors.run(command(name, { deadline: 1_000 }))))
    expect(results.map((result) => messageOf((result as PromiseRejectedResult).reason))).toEqual([
      'slow failure',
      'slow failure',
      'command refused: expired',
      'command refused: expired',
      'command refused: expired',
    ])
  })
})

describe('ownership', () => {
  it('cannot commit after another runtime took the actor, and takes it back', async () => {
    const store = new Store()
    const [one, two] = [new TestHost(store), new TestHost(store)]
    const [first, second] = [start(one), start(two)]
    await first.run(command('a'))
    await second.run(command('b'))
    expect(store.epochs.get('ws:1')).toBe(2)
    await first.run(command('c'))
    expect(first.stats()).toMatchObject({ fenced: 1, activations: 2 })
    expect(store.epochs.get('ws:1')).toBe(3)
    expect(store.effects).toEqual(['a', 'b', 'c'])
  })

  it('rejects a command that is fenced repeatedly', async () => {
    const host = new TestHost()
    host.failWith = () => new FencedError('taken')
    const actors = start(host)
    const results = await Promise.allSettled([actors.run(command('a')), actors.run(command('b'))])
    for (const result of results) expect(result).toMatchObject({ reason: { reason: 'overloaded' } })
    expect(host.store.batches).toHaveLength(3)
  })

  it('quarantines an actor after three failed activations in a minute, for longer each time', async () => {
    const host = new TestHost()
    host.failActivations = 4
    const actors = start(host)
    for (const name of names(2)) await expect(actors.run(command(name))).rejects.toThrow('the store is away')
    expect(actors.stats().quarantined).toEqual([])
    // A batch is one activation, regardless of how many commands it has.
    const third = await Promise.allSettled(names(3).map((name) => actors.run(command(name))))
    expect(third.every((result) => result.status === 'rejected')).toBe(true)
    expect(host.failActivations).toBe(1)
    expect(actors.stats().quarantined).toEqual(['ws:1'])
    await expect(actors.run(command('x'))).rejects.toMatchObject({ reason: 'quarantined', retryAfter: 1 })
    await expect(actors.run(command('y', { actor: 'ws:2' }))).rejects.toThrow('the store is away')
    now += 1_001
    await expect(actors.run(command('z'))).resolves.toBe('z')
    expect(actors.stats().quarantined).toEqual([])
  })

  it('removes an idle actor, and activates it again on demand', async () => {
    const host = new TestHost()
    const actors = start(host, { idleMs: 20 })
    await actors.run(command('a'))
    expect(actors.stats().active).toBe(1)
    await waitFor(() => {
      now += 21
      return actors.stats().active === 0
    })
    await actors.run(command('b'))
    expect(host.store.epochs.get('ws:1')).toBe(2)
  })
})

describe('idle actors', () => {
  it('counts from the end of the last batch, however long that took', async () => {
    const host = new TestHost()
    const { gate, open } = closedGate()
    const actors = start(host, { idleMs: 20 })
    await actors.run(command('other', { actor: 'ws:2' }))
    host.gate = gate
    const slow = actors.run(command('slow'))
    await waitFor(() => host.entered === 2)
    now = 30
    open()
    await slow
    await waitFor(() => actors.stats().active === 1)
    await actors.run(command('next'))
    // The first actor was idle for 30 ms and is forgotten. The second has only just ended its batch.
    expect(host.store.epochs.get('ws:1')).toBe(1)
  })
})

describe('the list of owners', () => {
  it('names this process with all its actors, and says that it leaves once it is closed', async () => {
    const actors = start(new TestHost())
    await actors.run(command('a'))
    const local = { inc: 'local', address: 'local', reachable: true, actors: [{ actor: 'ws:1', epoch: 1, waiting: 0 }] }
    expect(await actors.owners()).toEqual([{ ...local, state: 'active' }])
    await actors.close(1_000)
    expect(await actors.owners()).toEqual([{ ...local, state: 'leaving' }])
  })
})

describe('closing', () => {
  it('finishes waiting commands and accepts no more', async () => {
    const host = new TestHost()
    const actors = start(host)
    const { gate, open } = closedGate()
    host.gate = gate
    const waiting = names(3).map((name) => actors.run(command(name)))
    await waitFor(() => host.entered === 1)
    const closed = actors.close(5_000)
    await expect(actors.run(command('late'))).rejects.toMatchObject({ reason: 'closed' })
    open()
    await closed
    expect(await Promise.all(waiting)).toEqual(names(3))
  })

  it('rejects commands that still wait at its deadline', async () => {
    const host = new TestHost()
    const actors = start(host)
    const { gate, open } = closedGate()
    host.gate = gate
    const first = actors.run(command('first'))
    await waitFor(() => host.entered === 1)
    const second = actors.run(command('second'))
    const refused = expect(second).rejects.toMatchObject({ reason: 'closed' })
    await actors.close(20)
    await refused
    open()
    await first
    expect(host.store.effects).toEqual(['first'])
  })
})
