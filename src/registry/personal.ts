import type { PersonalData } from '../core/personal-data.ts'
import type { Domain } from '../domain.ts'
import { domains } from './domains.ts'

/** What the tables of all domains hold on persons. */
export const personalData: PersonalData = Object.assign(
  {},
  ...domains.map(({ personal }: Domain) => personal ?? {}),
) as PersonalData
