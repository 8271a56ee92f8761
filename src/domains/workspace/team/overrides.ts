import type { Scope } from '../../../core/scope.ts'

/** Scopes that a member has in addition to those of role and groups, and scopes of these that the member lacks. */
export interface Overrides {
  readonly added: readonly Scope[]
  readonly removed: readonly Scope[]
}

/** The overrides that change `base`, the scopes of role and groups, into exactly `wanted`. */
export function overridesFor(base: ReadonlySet<Scope>, wanted: readonly Scope[]): Overrides {
  const target = new Set(wanted)
  return {
    added: [...target].filter((scope) => !base.has(scope)).sort(),
    removed: [...base].filter((scope) => !target.has(scope)).sort(),
  }
}
