import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ManualClock, SECOND } from '../core/clock.ts'
import { SOCKET_LIMITS, STRANGER_LIMITS } from './limits.ts'
import { Strangers } from './strangers.ts'

class Connection extends EventEmitter {
  isClosed = false

  close(): void {
    this.isClosed = true
    this.emit('close')
  }

  connect(): void {
    this.emit('packet', { type: 'message', data: '0' })
  }
}

const clock = new ManualClock()
let strangers: Strangers

beforeEach(() => {
  vi.useFakeTimers()
  strangers = new Strangers(clock)
})
afterEach(() => vi.useRealTimers())

function greet(address = '192.0.2.1'): Connection {
  const connection = new Connection()
  strangers.greet(connection, address)
  return connection
}

test('a connection that was refused ends when it does not try again in time', () => {
  const [silent, eager] = [greet(), greet()]
  for (const connection of [silent, eager]) {
    connection.connect()
    strangers.refused(connection)
  }
  vi.advanceTimersByTime(SOCKET_LIMITS.authenticateWithinMs - 1)
  eager.connect()
  vi.advanceTimersByTime(SECOND)
  expect([silent.isClosed, eager.isClosed]).toEqual([true, false])
})

test('of one network the oldest makes room, who has not tried to connect before who has', () => {
  const trying = greet('2001:db8::1')
  trying.connect()
  const idle = greet('2001:db8::2')
  const others = Array.from({ length: STRANGER_LIMITS.perNetwork - 1 }, () => greet('2001:db8::3'))
  expect([trying.isClosed, idle.isClosed]).toEqual([false, true])
  for (const other of others) other.connect()
  greet('2001:db8::4')
  greet('192.0.2.1')
  expect([trying.isClosed, others.some(({ isClosed }) => isClosed)]).toEqual([true, false])
})

test('an admitted connection is no stranger, and is told when it sends too much', () => {
  const connection = greet()
  let floods = 0
  connection.connect()
  strangers.admitted(connection, () => (floods += 1))
  for (let sent = 1; sent < SOCKET_LIMITS.burst; sent += 1) connection.emit('packet', { type: 'message', data: '2' })
  expect([connection.isClosed, floods]).toEqual([false, 0])
  connection.connect()
  expect([connection.isClosed, floods]).toEqual([false, 1])
})
