import { domain } from '../../../domain.ts'
import { composePublication } from './compose.ts'
import { watchTargets } from './jobs.ts'
import * as numbers from './numbers/operations.ts'
import * as operations from './operations.ts'
import { prepareDue, prepareTarget } from './preparation/jobs.ts'
import * as preparationTurns from './preparation/turns.ts'
import * as turns from './turns.ts'

export const publication = domain({
  name: 'posts',
  operations: { ...operations, ...numbers },
  jobs: { watchTargets, prepareTarget, prepareDue },
  turns: [...Object.values(turns), ...Object.values(preparationTurns)],
  compose: composePublication,
})
