import type { Member } from './caller.ts'
import { Forbidden, SecondFactorNeeded } from './errors.ts'
import type { Scope } from './scope.ts'

/** @throws AppError forbidden when the member lacks the scope of an operation; second_factor_needed */
export function requireScope(member: Member, access: string): void {
  if (member.secondFactor === 'missing') throw SecondFactorNeeded()
  if (member.scopes.has(access as Scope)) return
  const isLimited = member.key === 'limited'
  const who = isLimited ? 'The API key, or your role, lacks' : `Your role ${member.role} lacks`
  const how = isLimited ? 'Use a key that has it, or ask an owner or admin for it.' : 'Ask an owner or admin for it.'
  throw Forbidden({ message: `${who} the scope ${access} in this workspace. ${how}` })
}
