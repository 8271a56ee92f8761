import type { PersonalData } from '../core/personal-data.ts'
import type { Domain } from '../domain.ts'
import { domains } from './domains.ts'

/** The personal data in the tables of all domains. */
export const personalData: PersonalData = Object.assign(
  {},
  ...domains.map(({ personal }: Domain) => personal ?? {}),
) as PersonalData
