import { expect, test } from 'vitest'
import type { NamedOperation } from '../core/operation.ts'
import type { OperationTurn } from './payload.ts'
import { needsMember } from './turn-authorizer.ts'

const needs = (operation: object | undefined, workspaceId: string | undefined = 'w1') =>
  needsMember(operation as NamedOperation | undefined, { context: { workspaceId } } as OperationTurn)

test('a turn needs a member if its operation requires a scope in a workspace', () => {
  const workspace = { in: 'path', field: 'id' }
  expect(needs({ access: 'team:read', workspace })).toBe(true)
  expect(needs({ access: 'user', workspace })).toBe(false)
  expect(needs({ access: 'team:read' })).toBe(false)
  expect(needsMember({ access: 'team:read', workspace } as NamedOperation, { context: {} } as OperationTurn)).toBe(
    false,
  )
  expect(needs(undefined)).toBe(false)
})
