import { States, type Static } from '../../../core/schema.ts'

export const IdeaStatusSchema = States('IdeaStatus', 'What is to become of an idea.', {
  open: 'Nothing was decided yet',
  planned: 'It is going to be made',
  started: 'Somebody works on it',
  completed: 'It was made. It takes no more votes',
  declined: 'It is not going to be made. It takes no more votes',
  duplicate:
    'It was merged into the idea `duplicateOfId`, which has its votes. It takes no more votes, and has no place on its board',
})
export type IdeaStatus = Static<typeof IdeaStatusSchema>

/** Whether members can vote for an idea of this status. */
export function takesVotes(status: IdeaStatus): boolean {
  return status === 'open' || status === 'planned' || status === 'started'
}
