import { DEFAULT_TRIAL_LIMITS, LIMITS, type LimitName, type TrialLimits } from '../domains/money/plans/index.ts'
import { fail, list } from './setting-readers.ts'

/**
 * Reads `name=value, …`. What is not named keeps its default.
 * @throws Error that describes the accepted values
 */
export function trialLimits(value: string): TrialLimits {
  const given = list(value).map((pair) => {
    const [name = '', number = ''] = pair.split('=').map((part) => part.trim())
    if (!isLimit(name)) return fail(`must name limits of plans: ${Object.keys(LIMITS).join(', ')}`)
    const limit = Number(number)
    if (!/^\d+$/.test(number) || !Number.isSafeInteger(limit)) return fail(`must give ${name} as a whole number`)
    return [name, limit] as const
  })
  return { ...DEFAULT_TRIAL_LIMITS, ...Object.fromEntries(given) }
}

function isLimit(name: string): name is LimitName {
  return Object.hasOwn(LIMITS, name)
}
