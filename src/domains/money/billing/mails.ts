import type { PlanName } from '../../identity/users/index.ts'
import { renderMail } from '../../../mail/layout.ts'
import type { Mail } from '../../../mail/mailer.ts'
import { longDay, planTitle } from './descriptions.ts'

/** Mails about a subscription. They are part of the contract with the customer, so they cannot be switched off. */

/** Sent some days before the first charge. */
export function trialEndsMail(to: string, plan: PlanName, at: number): Mail {
  return renderMail(to, `Your trial of Crier ${planTitle(plan)} ends on ${longDay.format(at)}`, [
    'Hello,',
    `Your free trial of the ${planTitle(plan)} plan ends on ${longDay.format(at)}. Your default payment method is charged on that day, or your wallet if you have no payment method.`,
    'If you do not want to continue, cancel the subscription before then. Nothing is charged in that case.',
  ])
}

/** Sent after each failed charge. @param next when the charge is repeated */
export function chargeFailedMail(to: string, plan: PlanName, reason: string, next: number): Mail {
  return renderMail(to, 'Your payment for Crier failed', [
    'Hello,',
    `The payment for your ${planTitle(plan)} plan failed. ${reason}`,
    `We will try again on ${longDay.format(next)}. Your plan stays active until then.`,
    'To avoid an interruption, update your payment method or add money to your wallet.',
  ])
}

/** Sent when the paid time is over. @param base the plan that applies now */
export function endedMail(to: string, plan: PlanName, base: PlanName): Mail {
  return renderMail(to, `Your Crier ${planTitle(plan)} plan has ended`, [
    'Hello,',
    `Your ${planTitle(plan)} plan has ended. The ${planTitle(base)} plan applies now.`,
    'Nothing was deleted. What exceeds the limits of the plan is kept, but you cannot add more until you reduce it or upgrade.',
  ])
}
