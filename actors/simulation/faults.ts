import type { World } from './world.ts'

type Fault = (world: World) => void

/** The time limit of a stop, plus a lease store that does not respond. */
const LONGEST_STOP_MS = 1_300

const slot = (world: World) => world.random.pick(world.slots)

function pause(world: World, longest: number, suspend: boolean): void {
  const { process, name } = slot(world)
  const ms = world.random.between(20, longest)
  world.note(`${suspend ? 'suspend' : 'pause'} ${name} for ${ms.toFixed(0)}`)
  world.disturbed.add(process)
  process.pause(ms, suspend)
}

function restartLater(world: World, chosen: World['slots'][number]): void {
  world.scheduler.after(world.random.between(100, 7_000), () => {
    if (!chosen.process.crashed) return
    world.note(`start ${chosen.name}`)
    world.start(chosen)
  })
}

/** Faults that happen in production, at a higher rate. */
const FAULTS: Record<string, Fault> = {
  collectGarbage: (world) => pause(world, 900, false),
  pause: (world) => pause(world, 9_000, false),
  suspend: (world) => pause(world, 9_000, true),
  // The worst case: the reply arrives after the lease has expired, while more commands wait.
  pauseAtCommit: (world) => {
    const chosen = slot(world)
    const { process, name } = chosen
    const ms = world.random.between(500, 9_000)
    world.store.atNextCommit(process, (actor) => {
      world.note(`pause ${name} at a commit for ${ms.toFixed(0)}`)
      for (let count = 0; count < 3; count += 1) world.send(chosen, actor, 'append', 15_000)
      world.disturbed.add(process)
      process.pause(ms, false)
    })
  },
  crash: (world) => {
    const chosen = slot(world)
    if (chosen.process.crashed) return
    world.note(`crash ${chosen.name}`)
    world.crash(chosen)
    restartLater(world, chosen)
  },
  stop: (world) => {
    const chosen = slot(world)
    if (chosen.actors === undefined) return
    const { process } = chosen
    world.note(`stop ${chosen.name}`)
    world.stop(chosen, (took) => {
      world.note(`stopped ${chosen.name} in ${took.toFixed(0)}`)
      if (took > LONGEST_STOP_MS && !world.disturbed.has(process)) {
        world.store.violations.push(`${chosen.name} took ${took.toFixed(0)} ms to stop`)
      }
      restartLater(world, chosen)
    })
  },
  jump: (world) => {
    const { process, name } = slot(world)
    const ms = world.random.between(100, 8_000)
    world.note(`clock of ${name} jumps ${ms.toFixed(0)}`)
    world.disturbed.add(process)
    process.jump(ms)
  },
  flushRedis: (world) => {
    world.note('redis: flush')
    world.redis.flush()
  },
  restartRedis: (world) => {
    const ms = world.random.between(50, 9_000)
    world.note(`redis: down for ${ms.toFixed(0)}, then empty`)
    world.redis.restart(ms)
  },
  failOverRedis: (world) => {
    world.note('redis: loses some keys')
    world.redis.forgetSome()
  },
  slowRedis: (world) => {
    world.note('redis: slow')
    world.redis.slowDown(world.random.between(500, 6_000))
  },
  jumpRedis: (world) => {
    const ms = world.random.between(-6_000, 6_000)
    world.note(`redis: clock jumps ${ms.toFixed(0)}`)
    world.redis.jump(ms)
  },
  partRedis: (world) => {
    const { name } = slot(world)
    const ms = world.random.between(200, 9_000)
    world.note(`redis: ${name} cut off for ${ms.toFixed(0)}`)
    world.redis.cutOff(name, ms)
  },
  restartStore: (world) => {
    const ms = world.random.between(50, 4_000)
    world.note(`store: down for ${ms.toFixed(0)}`)
    world.store.restart(ms)
  },
  slowStore: (world) => {
    world.note('store: slow')
    world.store.slowDown(world.random.between(300, 4_000))
  },
  partStore: (world) => {
    const { name } = slot(world)
    const ms = world.random.between(200, 8_000)
    world.note(`store: ${name} cut off for ${ms.toFixed(0)}`)
    world.store.cutOff(name, ms)
  },
  partNodes: (world) => {
    const [one, other] = [slot(world), slot(world)]
    if (one === other) return
    world.note(`${one.name} and ${other.name} disconnected`)
    world.network.part(one.name, other.name, world.random.between(200, 9_000))
  },
  resetLinks: (world) => {
    const { name } = slot(world)
    world.note(`links of ${name} break`)
    world.network.reset(name, 0.7)
  },
  corruptFrames: (world) => {
    world.note('frames are lost, duplicated and delayed')
    world.network.frameFaultRate = world.random.between(0.05, 0.6)
    world.scheduler.after(world.random.between(500, 5_000), () => {
      world.network.frameFaultRate = 0
    })
  },
}

/** Plans some faults between two times. */
export function planFaults(world: World, from: number, to: number): void {
  const names = Object.keys(FAULTS)
  const kinds = Array.from({ length: world.random.integer(1, 3) }, () => world.random.pick(names))
  // A duplicate of a refused request could be accepted later, so these cases get more frame faults.
  if (world.smallLimits && world.random.chance(0.5)) kinds.push('corruptFrames', 'corruptFrames')
  for (let count = world.random.integer(1, 6); count > 0; count -= 1) {
    const fault = FAULTS[world.random.pick(kinds)] as Fault
    world.scheduler.at(world.random.between(from, to), () => fault(world))
  }
}

/** Ends every fault. All nodes run and can reach each other. */
export function healAll(world: World): void {
  world.note('all faults have ended')
  world.redis.heal()
  world.store.heal()
  world.network.heal()
  for (const chosen of world.slots) if (chosen.process.crashed) world.start(chosen)
}
