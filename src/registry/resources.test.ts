import { expect, test } from 'vitest'
import { walk } from '../core/operation.ts'
import { api } from './api.ts'
import { domains } from './domains.ts'
import { resourcesOf, workspaceResources } from './resources.ts'

test('every operation finds its workspace by a resource that a domain declares', () => {
  const named = walk(api).flatMap(({ workspace }) => (workspace?.in === 'owner' ? [workspace.resource] : []))
  expect(new Set(named)).toEqual(workspaceResources)
})

test('a domain cannot declare a table of another domain as its resource', () => {
  const team = { ...domains.find(({ name }) => name === 'team'), name: 'team', resources: ['streams'] }
  expect(() => resourcesOf([team])).toThrow('team lists the resource streams, which is none of its tables')
})
