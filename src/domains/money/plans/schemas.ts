import { named, Nullable, OneOf, Type } from '../../../core/schema.ts'
import { PLAN_NAMES } from '../../identity/users/index.ts'
import { LIMITS, type LimitName } from './plans.ts'

export const Money = named(
  'Money',
  Type.Object({
    amount: Type.Integer({ minimum: 0, description: 'Minor units, such as cents' }),
    currency: Type.String({ pattern: '^[A-Z]{3}$', description: 'ISO 4217' }),
  }),
)

const Limits = named(
  'PlanLimits',
  Type.Object(
    Object.fromEntries(
      Object.entries(LIMITS).map(([name, description]) => [name, Type.Integer({ minimum: 0, description })]),
    ) as Record<LimitName, ReturnType<typeof Type.Integer>>,
  ),
)

export const PlanView = named(
  'Plan',
  Type.Object({
    name: OneOf(PLAN_NAMES),
    title: Type.String(),
    summary: Type.String(),
    prices: Type.Object(
      { month: Money, quarter: Money, year: Money },
      { description: 'Price of the whole term, not of a month' },
    ),
    extraAccountPrices: Nullable(
      Type.Object(
        { month: Money, quarter: Money, year: Money },
        {
          description:
            'Price of one more social account than the plan includes, for the whole term. Null if none can be added',
        },
      ),
    ),
    limits: Limits,
    trialLimits: Nullable({
      ...Limits,
      description: 'What the free trial of the plan allows, until it is paid. Null if nobody needs to try it',
    }),
  }),
)
