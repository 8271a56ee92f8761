/**
 * The receivers and senders of the chat benchmark, in a forked process that receives orders and returns results. Every
 * side has the same receivers and window: the next messages are sent when half of the window has reached all receivers.
 */
import { openRawSocket, type RawSocket } from './raw-socket.ts'

/** Opens sockets: one socket.io socket per token, or bare sockets without tokens. */
export interface OpenOrder {
  readonly kind: 'open'
  readonly side: string
  readonly port: number
  readonly tokens: readonly string[]
  readonly isSocketIo: boolean
}

/** Sends for some seconds, from all sockets in turn. */
export interface SendOrder {
  readonly kind: 'send'
  readonly side: string
  readonly seconds: number
  /** Concurrent messages in progress. */
  readonly window: number
  /** The text to send; `%` is replaced by the number of the message. With `#`, one text requests that many messages. */
  readonly text: string
}

export type Order = OpenOrder | SendOrder

export interface Answer {
  readonly deliveries: number
  readonly seconds: number
  /** CPU seconds of this process. */
  readonly cpu: number
  readonly refused: number
  /** Frames other than deliveries and acknowledgements, such as presence and pings. */
  readonly others: number
  /** The last delivery, unchanged. */
  readonly sample: string
  readonly error?: string
}

interface Side {
  readonly sockets: RawSocket[]
  deliveries: number
  refused: number
  others: number
  ended: number
  sample: string
  onProgress: () => void
}

const CONNECTING = 50
/** The run ends after this long without a delivery. */
const SILENT_MS = 10_000
const DELIVERY = Buffer.from('42["chat.change"')
const ACK = Buffer.from('43')

const sides = new Map<string, Side>()
let messages = 0

process.on('message', (order: Order) => {
  const work = order.kind === 'open' ? open(order) : send(order)
  work.then(
    (answer) => process.send?.(answer),
    (error: unknown) => process.send?.({ error: String(error) }),
  )
})

function sideOf(name: string): Side {
  const side = sides.get(name) ?? {
    sockets: [],
    deliveries: 0,
    refused: 0,
    others: 0,
    ended: 0,
    sample: '',
    onProgress: () => undefined,
  }
  sides.set(name, side)
  return side
}

async function open(order: OpenOrder): Promise<Partial<Answer>> {
  const side = sideOf(order.side)
  const tokens = order.tokens.values()
  const work = async () => {
    for (const token of tokens)
      side.sockets.push(await (order.isSocketIo ? openSocketIo : openBare)(order, token, side))
  }
  await Promise.all(Array.from({ length: CONNECTING }, work))
  return {}
}

async function openSocketIo({ port }: OpenOrder, token: string, side: Side): Promise<RawSocket> {
  const admitted = Promise.withResolvers<void>()
  const onText = (message: Buffer) => {
    const kind = message[0]
    // engine.io: 0 open, 2 ping; socket.io in engine.io's 4: 40 connected, 44 refused.
    if (kind === 0x30) socket?.send(`40${JSON.stringify({ token })}`)
    else if (kind === 0x32) socket?.send('3')
    else if (message[1] === 0x30) admitted.resolve()
    else if (message[1] === 0x34) admitted.reject(new Error(message.toString()))
    else note(message, side)
  }
  let socket: RawSocket | undefined
  const early: Buffer[] = []
  socket = await openRawSocket(port, '/socket.io/?EIO=4&transport=websocket', {
    onText: (message) => {
      if (socket) onText(message)
      else early.push(Buffer.from(message))
    },
    onEnd: () => ended(side, admitted.reject),
  })
  for (const message of early) onText(message)
  await admitted.promise
  return socket
}

function openBare({ port }: OpenOrder, _token: string, side: Side): Promise<RawSocket> {
  return openRawSocket(port, '/', { onText: (message) => note(message, side), onEnd: () => ended(side) })
}

function ended(side: Side, reject?: (error: Error) => void): void {
  side.ended += 1
  reject?.(new Error('the socket was closed before it was accepted'))
}

function note(message: Buffer, side: Side): void {
  if (isDelivery(message)) {
    side.deliveries += 1
    if (side.sample === '') side.sample = message.toString()
    side.onProgress()
  } else if (message.compare(ACK, 0, 2, 0, 2) === 0) {
    if (message.includes('"status":20')) return
    side.refused += 1
    side.sample ||= message.toString('utf8', 0, 500)
    side.onProgress()
  } else side.others += 1
}

function isDelivery(message: Buffer): boolean {
  // `42["chat.change"`: two characters distinguish it from presence and typing.
  return message.length > DELIVERY.length && message[1] === 0x32 && message[4] === 0x63 && message[9] === 0x63
}

async function send({ seconds, side: name, text, window }: SendOrder): Promise<Answer> {
  const side = sideOf(name)
  const receivers = side.sockets.length
  Object.assign(side, { deliveries: 0, refused: 0, others: 0 })
  const cpu = process.cpuUsage()
  const began = performance.now()
  const until = began + seconds * 1_000
  let sent = 0
  let last = began
  const finished = Promise.withResolvers<void>()
  const speak = (words: string) => {
    messages += 1
    side.sockets[messages % receivers]?.send(words.replaceAll('%', String(messages)))
  }
  const fill = () => {
    const reached = Math.floor(side.deliveries / receivers) + side.refused
    const now = performance.now()
    if (now < until) {
      // Send half a window at once, so that every side can write several messages together.
      if (sent - reached > window / 2) return
      const count = window - (sent - reached)
      sent += count
      if (text.includes('#')) speak(text.replace('#', String(count)))
      else for (let left = count; left > 0; left -= 1) speak(text)
    } else if (reached >= sent) finished.resolve()
  }
  // Several frames in one read cause one request.
  let asked = false
  side.onProgress = () => {
    if (asked) return
    asked = true
    setImmediate(() => {
      asked = false
      last = performance.now()
      fill()
    })
  }
  const watch = setInterval(() => {
    if (performance.now() - Math.max(last, began) > SILENT_MS) finished.reject(new Error(silence(side, sent)))
  }, 1_000)
  try {
    fill()
    await finished.promise
  } finally {
    clearInterval(watch)
    side.onProgress = () => undefined
  }
  const took = (performance.now() - began) / 1_000
  const { system, user } = process.cpuUsage(cpu)
  const { deliveries, others, refused, sample } = side
  return { deliveries, refused, others, sample, seconds: took, cpu: (user + system) / 1e6 }
}

function silence({ deliveries, ended: gone, refused, sample, sockets }: Side, sent: number): string {
  return `no delivery after ${sent} messages: ${deliveries} deliveries to ${sockets.length} sockets, ${refused} messages rejected, ${gone} sockets closed; ${sample}`
}
