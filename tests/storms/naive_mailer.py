"""The mailer that must lose: it sends first and marks afterwards. `python -m tests.storms.naive_mailer`."""

import django


def main() -> None:
    """Mail everything that waits, as a program does whose author did not think of being killed."""
    django.setup()
    from django.core.mail import EmailMessage

    from contracts.forms.notices import compose
    from contracts.models import Notice

    for notice in Notice.objects.to_mail():
        mail = compose(notice)
        EmailMessage(mail.subject, mail.text, to=[notice.person.email]).send(using="default")
        Notice.objects.filter(pk=notice.pk).update(mail="sent")


if __name__ == "__main__":
    main()
