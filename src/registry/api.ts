import type { Domain } from '../domain.ts'
import type { AnyOperation } from '../core/operation.ts'
import type { AnySystemTurn } from '../core/system-turn.ts'
import { domains } from './domains.ts'

type Declared = Extract<(typeof domains)[number], { readonly operations: unknown }>
type Intersection<U> = (U extends unknown ? (of: U) => void : never) extends (of: infer I) => void ? I : never

/** Every operation by its domain's name, as its literal types it. */
export type Api = {
  readonly [Name in Declared['name']]: Intersection<Extract<Declared, { readonly name: Name }>['operations']>
}

/** Every operation of the service, by domain. */
export const api = operationsByDomain() as unknown as Api

/** The system turns of all domains. */
export const systemTurns: readonly AnySystemTurn[] = domains.flatMap(({ turns = [] }: Domain) => turns)

/** @throws when two domains with the same name declare an operation with the same name */
function operationsByDomain(): Record<string, Record<string, AnyOperation>> {
  const found: Record<string, Record<string, AnyOperation>> = {}
  for (const { name, operations } of [...domains].sort((a, b) => a.name.localeCompare(b.name)) as Domain[]) {
    if (operations === undefined) continue
    const group = (found[name] ??= {})
    for (const [key, operation] of Object.entries(operations)) {
      if (group[key] !== undefined) throw new Error(`operation ${key} is declared twice`)
      group[key] = operation
    }
  }
  return found
}
