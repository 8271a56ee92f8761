import type { Member } from './caller.ts'
import { Forbidden, SecondFactorNeeded } from './errors.ts'
import type { Scope } from './scope.ts'

/** @throws AppError forbidden when the member lacks the scope of an operation; second_factor_needed */
export function requireScope(member: Member, access: string): void {
  if (member.secondFactor === 'missing') throw SecondFactorNeeded()
  if (member.scopes.has(access as Scope)) return
  const who = member.key === 'limited' ? 'The API key, or your role, lacks' : `Your role ${member.role} lacks`
  throw Forbidden({ message: `${who} the scope ${access} in this workspace.` })
}
