/** The currency of all prices (`plans.ts`). */
export const CURRENCY = 'USD'
