import type { Scope } from '../../../core/scope.ts'

/** What a member has beyond, and short of, role and groups. */
export interface Overrides {
  readonly added: readonly Scope[]
  readonly removed: readonly Scope[]
}

/** The overrides that turn `base`, what role and groups give, into exactly `wanted`. */
export function overridesFor(base: ReadonlySet<Scope>, wanted: readonly Scope[]): Overrides {
  const target = new Set(wanted)
  return {
    added: [...target].filter((scope) => !base.has(scope)).sort(),
    removed: [...base].filter((scope) => !target.has(scope)).sort(),
  }
}
