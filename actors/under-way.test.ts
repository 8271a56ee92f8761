import { expect, it } from 'vitest'
import type { Reply } from './links/frames.ts'
import { UnderWay } from './under-way.ts'

const VALUE: Reply = { kind: 'value', text: '1' }

it('gives concurrent callers of an operation the same reply, and drops it afterwards', () => {
  const underWay = new UnderWay()
  const got: [string, Reply][] = []
  const ask = (name: string) => underWay.join('a', (reply) => got.push([name, reply]))
  expect(ask('too early')).toBe(false)
  underWay.begin('a', (reply) => got.push(['first', reply]))
  expect([ask('again'), underWay.size]).toEqual([true, 1])
  underWay.end('a', VALUE)
  expect(got).toEqual([
    ['first', VALUE],
    ['again', VALUE],
  ])
  expect([ask('too late'), underWay.size]).toEqual([false, 0])
})
