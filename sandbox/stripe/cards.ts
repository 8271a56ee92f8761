/** Stripe's test cards, by the id of the ready-made method, with their documented behavior. */

export interface TestCard {
  readonly number: string
  readonly brand: string
  readonly last4: string
  /** The code of the refusal of every charge. */
  readonly declines?: { readonly code: string; readonly declineCode: string; readonly message: string }
  /** `always`: each payment needs the payer's confirmation. `once`: not after the card was set up. */
  readonly secure?: 'always' | 'once'
  /** Can be saved, but every later charge is refused. */
  readonly declinesLater?: true
  /** A charge succeeds and is disputed at once. */
  readonly disputes?: true
}

const declined = (declineCode: string, message: string, code = 'card_declined') => ({
  declines: { code, declineCode, message },
})

const visa = (number: string, rest: Partial<TestCard> = {}): TestCard => ({
  number,
  brand: 'visa',
  last4: number.slice(-4),
  ...rest,
})

/** https://docs.stripe.com/testing */
export const TEST_CARDS: Readonly<Record<string, TestCard>> = {
  pm_card_visa: visa('4242424242424242'),
  pm_card_mastercard: { number: '5555555555554444', brand: 'mastercard', last4: '4444' },
  pm_card_visa_chargeDeclined: visa('4000000000000002', declined('generic_decline', 'Your card was declined.')),
  pm_card_visa_chargeDeclinedInsufficientFunds: visa(
    '4000000000009995',
    declined('insufficient_funds', 'Your card has insufficient funds.'),
  ),
  pm_card_chargeDeclinedExpiredCard: visa(
    '4000000000000069',
    declined('expired_card', 'Your card has expired.', 'expired_card'),
  ),
  pm_card_chargeCustomerFail: visa('4000000000000341', { declinesLater: true }),
  pm_card_authenticationRequired: visa('4000002760003184', { secure: 'always' }),
  pm_card_authenticationRequiredOnSetup: visa('4000002500003155', { secure: 'once' }),
  pm_card_createDispute: visa('4000000000000259', { disputes: true }),
}

export const cardByNumber = (number: string): TestCard | undefined =>
  Object.values(TEST_CARDS).find((card) => card.number === number)
