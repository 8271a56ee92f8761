import { expect, test } from 'vitest'
import { ReservationBook, windowKey, type Booked } from './book.ts'

const DAY = 86_400_000
const booked = (n: number): Booked => ({ targetId: `target-${n}`, at: n, replies: 0, cost: 0 })
const many = (count: number) => Array.from({ length: count }, (_, n) => booked(n))

test('keeps its windows while there is room', () => {
  const book = new ReservationBook()
  book.keep(windowKey('a', 0), many(199_998))
  book.add({ ...booked(3), targetId: 'other', accountId: 'a', platform: 'x' })
  book.keep(windowKey('a', 0), many(199_998))
  book.makeRoom()
  expect(book.window(windowKey('a', 0))).toHaveLength(199_998)
})

test('forgets its windows when it has too many reservations', () => {
  const book = new ReservationBook()
  book.keep(windowKey('a', 0), many(199_999))
  book.keep(windowKey('b', 0), [])
  const reservation = { ...booked(5), targetId: 'other', accountId: 'b', platform: 'x' }
  book.add(reservation)
  book.remove(reservation)
  book.makeRoom()
  expect(book.window(windowKey('a', 0))).toHaveLength(199_999)
  book.add(reservation)
  // What a turn has loaded stays until the turn ends.
  expect(book.window(windowKey('b', 0))).toEqual([{ targetId: 'other', at: 5, replies: 0, cost: 0 }])
  book.makeRoom()
  expect([book.window(windowKey('a', 0)), book.window(windowKey('b', 0))]).toEqual([undefined, undefined])
})

test('forgets its windows when they are too many', () => {
  const book = new ReservationBook()
  for (let n = 0; n < 20_000; n += 1) book.keep(windowKey('a', n), [booked(n * DAY)])
  book.makeRoom()
  expect(book.window(windowKey('a', 7))).toBeUndefined()
})
