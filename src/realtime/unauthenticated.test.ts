import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ManualClock, SECOND } from '../core/clock.ts'
import { SOCKET_LIMITS, UNAUTHENTICATED_LIMITS } from './limits.ts'
import { UnauthenticatedConnections } from './unauthenticated.ts'

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
let connections: UnauthenticatedConnections

beforeEach(() => {
  vi.useFakeTimers()
  connections = new UnauthenticatedConnections(clock)
})
afterEach(() => vi.useRealTimers())

function greet(address = '192.0.2.1'): Connection {
  const connection = new Connection()
  connections.watch(connection, address)
  return connection
}

test('a refused connection is closed if it does not try again in time', () => {
  const [silent, eager] = [greet(), greet()]
  for (const connection of [silent, eager]) {
    connection.connect()
    connections.refused(connection)
  }
  vi.advanceTimersByTime(SOCKET_LIMITS.authenticateWithinMs - 1)
  eager.connect()
  vi.advanceTimersByTime(SECOND)
  expect([silent.isClosed, eager.isClosed]).toEqual([true, false])
})

test('a full network closes its oldest connection, those without a pending CONNECT first', () => {
  const trying = greet('2001:db8::1')
  trying.connect()
  const idle = greet('2001:db8::2')
  const others = Array.from({ length: UNAUTHENTICATED_LIMITS.perNetwork - 1 }, () => greet('2001:db8::3'))
  expect([trying.isClosed, idle.isClosed]).toEqual([false, true])
  for (const other of others) other.connect()
  greet('2001:db8::4')
  greet('192.0.2.1')
  expect([trying.isClosed, others.some(({ isClosed }) => isClosed)]).toEqual([true, false])
})

test('an authenticated connection no longer counts, and is reported when it sends too much', () => {
  const connection = greet()
  let floods = 0
  connection.connect()
  connections.authenticated(connection, () => (floods += 1))
  for (let sent = 1; sent < SOCKET_LIMITS.burst; sent += 1) connection.emit('packet', { type: 'message', data: '2' })
  expect([connection.isClosed, floods]).toEqual([false, 0])
  connection.connect()
  expect([connection.isClosed, floods]).toEqual([false, 1])
})
