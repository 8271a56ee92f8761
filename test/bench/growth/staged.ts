import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { walk, type NamedOperation } from '../../../src/core/operation.ts'
import { ALL_SCOPES } from '../../../src/core/scope.ts'
import { api } from '../../../src/registry/api.ts'
import type { App } from '../../support/app.ts'
import { stageExample } from '../../support/matrix.ts'
import type { SendOptions } from '../../support/send.ts'
import type { Stage } from '../../support/stage.ts'
import { World } from '../../support/world.ts'

/** A workspace, with a member who has all scopes. */
export interface Side {
  readonly workspaceId: string
  readonly ownerId: string
  readonly ownerKey: string
  readonly memberId: string
  readonly memberKey: string
}

/** Two workspaces, and the example of each read for both. */
export interface Staged {
  readonly small: Side
  readonly large: Side
  /** By operation: the request in the small and in the large workspace. */
  readonly requests: Readonly<Record<string, readonly [SendOptions, SendOptions]>>
  /** By operation: why it has no request. */
  readonly skipped: Readonly<Record<string, string>>
}

/** The operations that the benchmark calls. */
export const reads: readonly NamedOperation[] = walk(api).filter(({ method }) => method === 'GET')

/** Reads of the caller's own rows whose example is of a new user, who has none. */
const OF_THE_MEMBER = new Set(['exportMyData'])

/** Creates two workspaces, and all that the examples of the reads need in each. */
export async function stageReads(app: App): Promise<Staged> {
  const world = new World(app)
  await world.user('root', { admin: true })
  const side = async (name: string) => {
    const owner = await world.user(`${name}-owner`, { plan: 'business' })
    const workspaceId = await world.workspace(name, `${name}-owner`)
    const member = await world.member(name, `${name}-member`, { scopes: ALL_SCOPES })
    const stage = async (op: NamedOperation): Promise<Stage> => {
      const caller = op.access === 'admin' ? await world.user('root') : member
      return { app, workspaceId, owner, caller }
    }
    return {
      stage,
      ids: {
        workspaceId,
        ownerId: owner.id,
        ownerKey: owner.apiKey,
        memberId: member.id,
        memberKey: member.apiKey,
      },
    }
  }
  const small = await side('small')
  const large = await side('large')
  const requests: Record<string, [SendOptions, SendOptions]> = {}
  const skipped: Record<string, string> = {}
  for (const op of reads) {
    try {
      const one = await stageExample(op, await small.stage(op))
      const other = await stageExample(op, await large.stage(op))
      if (one.prepared.once === true) skipped[op.name] = 'it uses up its credential'
      else if (one.prepared.error !== undefined) skipped[op.name] = `its example is refused: ${one.prepared.error}`
      else if (OF_THE_MEMBER.has(op.name))
        requests[op.name] = [{ apiKey: small.ids.memberKey }, { apiKey: large.ids.memberKey }]
      else requests[op.name] = [one.send, other.send]
    } catch (error) {
      skipped[op.name] = (error as Error).message.slice(0, 200)
    }
  }
  return { small: small.ids, large: large.ids, requests, skipped }
}

/** What `stageReads` returned for a database that was kept; undefined without one. */
export function readStaged(path: string): Staged | undefined {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Staged) : undefined
}

/** Notes what a kept database has. */
export function writeStaged(path: string, staged: Staged): void {
  writeFileSync(path, JSON.stringify(staged, undefined, 1))
}
