import { PlatformError } from './error-kinds.ts'
import type { AccountContext, Choice, Place } from './platform.ts'

/** More would be no list to choose from. */
const MAX_CHOICES = 500

/** Places as the values of the option that names one. */
export function choicesOf(places: readonly Place[]): readonly Choice[] {
  return places.slice(0, MAX_CHOICES).map(({ id, name }) => ({ value: id, title: name }))
}

/** The choices of an option; none if the platform does not list them now, because nothing else depends on them. */
export async function choicesIn(
  context: AccountContext,
  option: string,
  places: (context: AccountContext) => Promise<readonly Place[]>,
): Promise<Readonly<Record<string, readonly Choice[]>>> {
  try {
    return { [option]: choicesOf(await places(context)) }
  } catch (error) {
    if (error instanceof PlatformError) return {}
    throw error
  }
}
