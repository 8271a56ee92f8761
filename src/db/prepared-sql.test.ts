import { expect, test } from 'vitest'
import { StatementNames } from './prepared-sql.ts'

test('texts beyond the bound run without a name, and known ones keep theirs', () => {
  const names = new StatementNames(2)
  expect(['a', 'b', 'c', 'a', 'b', 'c'].map((text) => names.of(text))).toEqual([
    's1',
    's2',
    undefined,
    's1',
    's2',
    undefined,
  ])
})
