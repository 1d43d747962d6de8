"""What the forms of a document's page send."""

from typing import cast

from django import forms

from documents.editing import Changes


class EditForm(forms.Form):
    """Title, tags divided by commas, correspondent, date. What isn't sent stays; what is sent empty is cleared."""

    title = forms.CharField(required=False, strip=False)
    tags = forms.CharField(required=False)
    correspondent = forms.CharField(required=False)
    document_date = forms.DateField(required=False, input_formats=["%Y-%m-%d", "%d.%m.%Y"])

    @property
    def changes(self) -> Changes:
        """Return what is to be changed, once the form is valid."""
        sent = {name: value for name, value in self.cleaned_data.items() if name in self.data}
        if "tags" in self.data:
            sent["tags"] = self.cleaned_data["tags"].split(",")
        return cast(Changes, sent)
