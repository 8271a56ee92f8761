import type { Connection, ConnectionHandlers, Transport } from '../ports.ts'
import { TYPE } from '../links/frames.ts'
import type { SimProcess } from './process.ts'
import type { SeededRandom } from './random.ts'
import type { Scheduler } from './scheduler.ts'

interface Listening {
  readonly process: SimProcess
  readonly accept: (connection: Connection) => ConnectionHandlers
}

export interface SimNetworkFlaws {
  /** Duplicates of a request get a different id, as if the receiver did not check for duplicates. */
  readonly duplicateIdsChange?: boolean
}

const ID_AT = 2

/** A copy of a request or reply with a different id. See `links/frames.ts`. */
function renamed(frame: Buffer): Buffer {
  const copy = Buffer.from(frame)
  copy.writeUInt32BE((copy.readUInt32BE(ID_AT) ^ 0x4000_0000) >>> 0, ID_AT)
  return copy
}

class SimConnection implements Connection {
  readonly process: SimProcess
  readonly #network: SimNetwork
  handlers: ConnectionHandlers | undefined
  peer: SimConnection | undefined
  lastArrival = 0
  open = true
  readonly buffered = 0

  constructor(network: SimNetwork, process: SimProcess) {
    this.#network = network
    this.process = process
  }

  send(frame: Buffer): void {
    this.#network.carry(this, Buffer.from(frame))
  }

  pauseReading(): void {}
  resumeReading(): void {}

  close(): void {
    this.#network.break(this)
  }
}

/**
 * Links between processes. TCP delivers each frame once and in order. Here, requests and replies are sometimes lost,
 * duplicated or delayed, because the runtime must not rely on TCP.
 */
export class SimNetwork {
  readonly #scheduler: Scheduler
  readonly #random: SeededRandom
  readonly #listening = new Map<string, Listening>()
  readonly #connections = new Set<SimConnection>()
  readonly #parted = new Set<string>()
  readonly #flaws: SimNetworkFlaws
  /** Probability that a request or reply is lost, duplicated or delayed. */
  frameFaultRate = 0

  constructor(scheduler: Scheduler, random: SeededRandom, flaws: SimNetworkFlaws = {}) {
    this.#scheduler = scheduler
    this.#random = random
    this.#flaws = flaws
  }

  part(one: string, other: string, ms: number): void {
    const pair = [one, other].sort().join()
    this.#parted.add(pair)
    this.#scheduler.after(ms, () => this.#parted.delete(pair))
  }

  heal(): void {
    this.#parted.clear()
    this.frameFaultRate = 0
  }

  /** Breaks all or some connections of a process. */
  reset(name: string, probability = 1): void {
    for (const connection of this.#connections) {
      const names = [connection.process.name, connection.peer?.process.name]
      if (names.includes(name) && this.#random.chance(probability)) this.break(connection)
    }
  }

  transportFor(process: SimProcess): Transport {
    return {
      connect: (address, handlers) => this.#connect(process, address, handlers),
      listen: async (accept) => {
        this.#listening.set(process.name, { process, accept })
        return { address: process.name, close: () => this.#unlisten(process) }
      },
    }
  }

  /** The kernel closes the connections of a crashed process. */
  crashed(process: SimProcess): void {
    this.#unlisten(process)
    this.reset(process.name)
  }

  carry(from: SimConnection, frame: Buffer): void {
    const to = from.peer
    if (!from.open || to === undefined) return
    const wild = frame[0] === TYPE.request || frame[0] === TYPE.reply
    if (wild && this.#random.chance(this.frameFaultRate / 3)) return
    if (wild && this.#random.chance(this.frameFaultRate / 3)) {
      this.#arrive(to, this.#flaws.duplicateIdsChange ? renamed(frame) : frame, this.#random.between(1, 500))
    }
    if (wild && this.#random.chance(this.frameFaultRate / 3)) {
      this.#arrive(to, frame, this.#random.between(1, 200))
      return
    }
    const arrival = Math.max(to.lastArrival, this.#scheduler.now + this.#random.between(0.05, 0.6))
    to.lastArrival = arrival
    this.#arrive(to, frame, arrival - this.#scheduler.now)
  }

  break(connection: SimConnection): void {
    for (const end of [connection, connection.peer]) {
      if (end === undefined || !end.open) continue
      end.open = false
      this.#connections.delete(end)
      // One end knows at once. The other is notified unless the two are disconnected; then it detects the silence.
      if (end === connection) end.process.deliver(() => end.handlers?.closed())
      else this.#notifyClosed(end, connection.process.name)
    }
  }

  #notifyClosed(end: SimConnection, other: string): void {
    this.#scheduler.after(this.#random.between(0.05, 0.6), () => {
      if (this.#areDisconnected(end.process.name, other)) this.#notifyLater(end, other)
      else end.process.deliver(() => end.handlers?.closed())
    })
  }

  #notifyLater(end: SimConnection, other: string): void {
    this.#scheduler.after(100, () => this.#notifyClosed(end, other))
  }

  #areDisconnected(one: string, other: string): boolean {
    return this.#parted.size > 0 && this.#parted.has([one, other].sort().join())
  }

  /** Frames sent while two processes are disconnected arrive after they are reconnected. */
  #arrive(to: SimConnection, frame: Buffer, ms: number): void {
    this.#scheduler.after(ms, () => {
      if (!to.open) return
      if (this.#areDisconnected(to.process.name, to.peer?.process.name ?? '')) {
        this.#arrive(to, frame, 50)
        return
      }
      to.process.deliver(() => {
        if (to.open) to.handlers?.frame(frame)
      })
    })
  }

  #connect(process: SimProcess, address: string, handlers: ConnectionHandlers): Connection {
    const near = new SimConnection(this, process)
    near.handlers = handlers
    this.#connections.add(near)
    this.#scheduler.after(this.#random.between(0.1, 1), () => {
      const there = this.#listening.get(address)
      if (!near.open || this.#areDisconnected(process.name, address)) return
      if (there === undefined) {
        this.break(near)
        return
      }
      const far = new SimConnection(this, there.process)
      near.peer = far
      far.peer = near
      this.#connections.add(far)
      there.process.deliver(() => {
        far.handlers = there.accept(far)
      })
    })
    return near
  }

  #unlisten(process: SimProcess): void {
    if (this.#listening.get(process.name)?.process === process) this.#listening.delete(process.name)
  }
}
