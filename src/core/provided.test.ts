import { expect, test } from 'vitest'
import { Provided } from './provided.ts'

test('hands over what was provided, and names what nobody has provided', () => {
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
