import { expect, test } from 'vitest'
import type { PostSnapshot } from '../../posts/tables.ts'
import { VersionChanges } from './version-changes.ts'

const version = (id: string, content: string) => ({ id, snapshot: { content, targets: [] } as unknown as PostSnapshot })

test('a difference is computed once', () => {
  const changes = new VersionChanges()
  const [before, after] = [version('1', 'We are live.'), version('2', 'We were live.')]
  const first = changes.of(after, before)
  expect(first.content?.map(({ text }) => text)).toEqual(['We ', 'are', 'were', ' live.'])
  const reads: string[] = []
  const watched = (id: string) => ({
    id,
    get snapshot(): PostSnapshot {
      reads.push(id)
      return after.snapshot
    },
  })
  expect(changes.of(watched('2'), watched('1'))).toBe(first)
  expect(reads).toEqual([])
})

test('the least recently read differences make room for others', () => {
  const changes = new VersionChanges()
  const large = (index: number) =>
    changes.of(version(`new${index}`, 'y'.repeat(500_000)), version(`old${index}`, 'x'.repeat(500_000)))
  const [first, second] = [large(0), large(1)]
  for (let index = 2; index < 6; index += 1) {
    large(index)
    expect(large(0)).toBe(first)
  }
  expect(large(1)).not.toBe(second)
})
