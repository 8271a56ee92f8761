import { expect, test } from 'vitest'
import { ReservationBook, windowKey } from './book.ts'
import { Window, type Booked } from './window.ts'

const idOf = (n: number) => `01920000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`
const booked = (n: number): Booked => ({ targetId: idOf(n), at: n, replies: 0, cost: 0 })
const OTHER = idOf(999_999)
const many = (count: number) => {
  const window = new Window()
  for (let n = 0; n < count; n += 1) window.add(booked(n))
  return window
}

test('keeps its windows while there is room', () => {
  const book = new ReservationBook()
  book.keep(windowKey('a', 0), many(199_998))
  book.add({ ...booked(3), targetId: OTHER, accountId: 'a', platform: 'x' })
  book.keep(windowKey('a', 0), many(199_998))
  book.makeRoom()
  expect(book.window(windowKey('a', 0))?.size).toBe(199_998)
})

test('forgets its windows when it has too many reservations', () => {
  const book = new ReservationBook()
  book.keep(windowKey('a', 0), many(199_999))
  book.keep(windowKey('b', 0), many(0))
  const reservation = { ...booked(5), targetId: OTHER, accountId: 'b', platform: 'x' }
  book.add(reservation)
  book.remove(reservation)
  book.makeRoom()
  expect(book.window(windowKey('a', 0))?.size).toBe(199_999)
  book.add(reservation)
  // What a turn has loaded stays until the turn ends.
  expect([...(book.window(windowKey('b', 0))?.between(5, 5) ?? [])]).toEqual([
    { at: 5, replies: 0, cost: 0, mark: 999_999 },
  ])
  book.makeRoom()
  expect([book.window(windowKey('a', 0)), book.window(windowKey('b', 0))]).toEqual([undefined, undefined])
})

test('forgets its windows when they are too many', () => {
  const book = new ReservationBook()
  for (let n = 0; n < 20_000; n += 1) book.keep(windowKey('a', n), many(1))
  book.makeRoom()
  expect(book.window(windowKey('a', 7))).toBeUndefined()
})
