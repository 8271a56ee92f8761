import type { Domain } from '../domain.ts'
import { domains } from './domains.ts'

/** The tables in which operations look up the workspace of a request. */
export const workspaceResources: ReadonlySet<string> = resourcesOf(domains)

/** @throws when a domain lists a table that it does not own, or one whose rows do not belong to a workspace */
export function resourcesOf(declared: readonly Domain[]): Set<string> {
  const found = new Set<string>()
  for (const { entities = [], name, resources: listed = [] } of declared) {
    for (const resource of listed) {
      const entity = entities.find(({ meta }) => meta.tableName === resource)
      if (entity === undefined) throw new Error(`${name} lists the resource ${resource}, which is none of its tables`)
      found.add(resource)
    }
  }
  return found
}
