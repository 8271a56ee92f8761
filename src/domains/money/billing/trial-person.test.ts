import { expect, test } from 'vitest'
import { personOf } from './trial-person.ts'

test.each([
  ['ada@example.com', 'ada@example.com'],
  ['ada+trial@example.com', 'ada@example.com'],
  ['ada+a+b@example.com', 'ada@example.com'],
  ['a.d.a@example.com', 'a.d.a@example.com'],
  ['a.d.a+x@gmail.com', 'ada@gmail.com'],
  ['ada@googlemail.com', 'ada@gmail.com'],
  ['+ada@example.com', '+ada@example.com'],
  ['"a@b"@example.com', '"a@b"@example.com'],
])('%s is a person with the mailbox %s', (email, person) => {
  expect(personOf(email)).toBe(person)
})
