import { expect, test } from 'vitest'
import { Provided } from './provided.ts'

test('returns the provided value, and reports a missing one', () => {
  const payers = new Provided<string>('the payers of workspaces')
  expect(() => payers.get()).toThrow('no domain provides the payers of workspaces')
  payers.provide('plans')
  expect(payers.get()).toBe('plans')
})

test('can be provided only once', () => {
  const payers = new Provided<string>('the payers of workspaces')
  payers.provide('plans')
  expect(() => payers.provide('billing')).toThrow('the payers of workspaces were provided twice')
})
